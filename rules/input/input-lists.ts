// `input` and `tools` are lists; the public surface also takes a string as the user's one message (F1.6, Q15).

import type { Json } from '../../proxy/turn/json.ts';
import { isAbsent, isList } from '../../proxy/turn/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { invalid } from '../invalid.ts';
import { rule } from '../rule.ts';

/** First of the shape rules: all that follow find a list or nothing. */
export const inputLists = rule({
  name: 'input-lists',
  routes: ['responses', 'public-responses'],
  request({ body }, { route }) {
    if (route.kind === 'public-responses' && typeof body.input === 'string') body.input = [userMessage(body.input)];
    needList(body, 'input');
    needList(body, 'tools');
    return undefined;
  },
});

/** Null counts as absent (Q15), for the provider too, which might not think so. */
function needList(body: Body, member: 'input' | 'tools'): void {
  const value = body[member];
  if (isList(value)) return;
  if (!isAbsent(value)) throw invalid(member, 'must be an array');
  delete body[member];
}

function userMessage(text: string): Json {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}
