// Opens summaries that the gateway sealed for clients to keep, and leaves out of attempts at agent backends the reasoning of other accounts (AA22).

import { restartRequired } from '../../proxy/turn/errors/refusal.ts';
import { isList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json/json.ts';
import { capsuleIn, isBareReasoning } from '../../proxy/turn/provider/capsule.ts';
import { rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { userMessage } from '../helpers/user-message.ts';
import { TURNS } from '../route-groups.ts';

/** A summary is a user message for every account. Reasoning stays for the accounts that can open it; agent backends cannot. */
export const capsules = rule({
  name: 'capsules',
  routes: TURNS,
  request({ body }, turn) {
    const { input } = body;
    if (!isList(input)) return SKIP;
    body.input = mapList(input, (item) => (isObject(item) && item.type === 'compaction' ? opened(item, turn) : item));
    return input.some((item) => isForeign(item, turn)) ? undefined : SKIP;
  },
  apis: ['agent'],
  attempt({ body }, _memory, turn) {
    if (isList(body.input)) body.input = body.input.filter((item) => !isForeign(item, turn));
  },
});

/** @throws Refusal where the conversation before it is lost: it was sealed for another Pool, or with another key of the store. */
function opened(item: JsonObject, turn: Turn): Json {
  const capsule = capsuleIn(item);
  if (capsule === undefined) return item;
  const summary = turn.openCapsule('compaction', capsule);
  if (summary === undefined) throw restartRequired(turn.wire.agent);
  return userMessage(`Summary of the conversation so far:\n\n${summary}`);
}

/**
 * Reasoning in a capsule, and reasoning without ciphertext, which native clients send back without its id. In a Pool of agent backends the
 * latter passes as it came.
 */
const isForeign = (item: Json, turn: Turn): boolean =>
  isObject(item) && item.type === 'reasoning' && (capsuleIn(item) !== undefined || (isBareReasoning(item) && turn.hasApiAccounts));
