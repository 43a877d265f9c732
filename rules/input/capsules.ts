// Opens summaries that the gateway sealed for clients to keep, and removes reasoning of other accounts from attempts at agent backends
// (AA22).
import { restartRequired } from '../../proxy/turn/errors/refusal.ts';
import { isList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json/json.ts';
import { capsuleIn, isBareReasoning } from '../../proxy/turn/provider/capsule.ts';
import { rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { userMessage } from '../helpers/user-message.ts';
import { TURNS } from '../route-groups.ts';

/** A summary becomes a user message for every account. Reasoning stays for the accounts that can open it, which agent backends cannot. */
export const capsules = rule({
  name: 'capsules',
  routes: TURNS,
  request({ body }, turn) {
    // Turns of agent accounts do no work for other APIs (AA93). In a Pool without other APIs a capsule is ciphertext that no account knows.
    if (!turn.hasApiAccounts) return SKIP;
    const { input } = body;
    if (!isList(input)) return SKIP;
    body.input = mapList(input, (item) => (isObject(item) && item.type === 'compaction' ? opened(item, turn) : item));
    return input.some(isForeign) ? undefined : SKIP;
  },
  apis: ['agent'],
  attempt({ body }) {
    if (isList(body.input)) body.input = body.input.filter((item) => !isForeign(item));
  },
});

/**
 * Opens a summary. @throws Refusal if the conversation before it is lost: it was sealed for another Pool, or with another key of the store
 */
function opened(item: JsonObject, turn: Turn): Json {
  const capsule = capsuleIn(item);
  if (capsule === undefined) return item;
  const summary = turn.openCapsule('compaction', capsule);
  if (summary === undefined) throw restartRequired(turn.wire.agent);
  return userMessage(`Summary of the conversation so far:\n\n${summary}`);
}

/** Whether an item is reasoning in a capsule, or reasoning without ciphertext, which native clients send back without its id. */
const isForeign = (item: Json): boolean =>
  isObject(item) && item.type === 'reasoning' && (capsuleIn(item) !== undefined || isBareReasoning(item));
