// Checks a compaction that a public client sends back: it has only its own fields, and begins a new chain (F3.3, F3.4, Q33).
import { invalidRequest, unknownMember } from '../../proxy/turn/errors/invalid-request.ts';
import { asList, isAbsent, isText, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';
import { hasVisibleInput, isCompactionItem } from './conversation-items.ts';

/** The item is sent as it came: its id stays absent, null or a string. Its place in the input is not checked. */
export const compactionReplay = rule({
  name: 'compaction-replay',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    const input = asList(body.input);
    if (!input.some(isCompactionItem)) return;
    for (const [i, item] of input.entries()) {
      const fault = isCompactionItem(item) ? faultOf(item) : undefined;
      if (fault !== undefined) throw invalidRequest(`input.${i}${fault}`, 'is not what a compaction item may have there');
    }
    if (!isAbsent(body.previous_response_id))
      throw invalidRequest('previous_response_id', 'must be absent: a compaction item begins a new chain');
    if (!hasVisibleInput(body)) throw invalidRequest('input', 'must have new visible input beside its compaction item');
  },
});

/** The path below the item at which its shape is wrong; undefined if it is right. */
function faultOf(item: JsonObject): string | undefined {
  for (const member of Object.keys(item)) {
    if (member !== 'type' && member !== 'id' && member !== 'encrypted_content') return unknownMember(member);
  }
  if (!isText(item.encrypted_content)) return '.encrypted_content';
  return isAbsent(item.id) || typeof item.id === 'string' ? undefined : '.id';
}
