// Renames the effort and the output cap of Chat to those of the Responses API, after policy has checked them under Chat's names (Q24).

import type { Json } from '../../proxy/turn/json/json.ts';
import { isAbsent } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { CHAT_TURNS } from '../route-groups.ts';

/** The smallest cap that the Responses API takes. Chat takes any, and clients that only probe a model ask for one token. */
const LEAST_CAP = 16;

/** The end of the translation: from here on the body is one of the Responses API. */
export const chatSettings = rule({
  name: 'chat-settings',
  routes: CHAT_TURNS,
  request({ body }, turn) {
    const { reasoning_effort: effort, max_completion_tokens: cap, max_tokens: olderCap } = body;
    for (const name of ['reasoning_effort', 'max_completion_tokens', 'max_tokens']) delete body[name];
    if (!isAbsent(effort)) body.reasoning = { effort };
    const most = cap ?? olderCap;
    if (!isAbsent(most)) body.max_output_tokens = accepted(most, turn.key.output_tokens?.max);
  },
});

/** @param permitted by the key's policy. What is not a count stays: the provider refuses it. */
function accepted(cap: Json, permitted = LEAST_CAP): Json {
  return typeof cap === 'number' && cap >= 1 ? Math.max(cap, Math.min(LEAST_CAP, permitted)) : cap;
}
