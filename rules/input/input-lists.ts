// Ensures that `input` and `tools` are lists. The public surface also accepts a string as the user's only message (F1.6, Q15).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { isAbsent, isList } from '../../proxy/turn/json/json.ts';
import { surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { userMessage } from '../helpers/user-message.ts';
import { NORMALISED_RESPONSES } from '../route-groups.ts';

/** The first of the rules about shapes: all later rules get a list or nothing. */
export const inputLists = rule({
  name: 'input-lists',
  routes: NORMALISED_RESPONSES,
  request({ body }, { route }) {
    if (surfaceOf(route.kind) === 'public' && typeof body.input === 'string') body.input = [userMessage(body.input)];
    needList(body, 'input');
    needList(body, 'tools');
  },
});

/** Refuses a member that is no list. Null counts as absent (Q15) and is removed, because the provider may interpret it differently. */
function needList(body: Body, member: 'input' | 'tools'): void {
  const value = body[member];
  if (isList(value)) return;
  if (!isAbsent(value)) throw invalidRequest(member, 'must be an array');
  delete body[member];
}
