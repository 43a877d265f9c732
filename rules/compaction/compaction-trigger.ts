// Checks an explicit compaction of the public surface: visible input, then exactly one trigger (F3.1).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { asList, isAbsent } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { isTrigger } from '../../proxy/turn/trigger-item.ts';
import { PUBLIC_COMPACTIONS } from '../route-groups.ts';
import { hasVisibleInput } from './conversation-items.ts';

/** Takes the trigger out of the input, because what replaces it depends on the account. */
export const compactionTrigger = rule({
  name: 'compaction-trigger',
  routes: PUBLIC_COMPACTIONS,
  request({ body }, turn) {
    const history = asList(body.input).slice(0, -1);
    if (!isTrigger(asList(body.input).at(-1)) || history.some(isTrigger))
      throw invalidRequest('input', 'must have exactly one compaction_trigger, as its last item');
    if (!hasVisibleInput(body)) throw invalidRequest('input', 'must have visible input before its compaction_trigger');
    // A response is kept only on a live upstream websocket. Over HTTP there is none, and the client has the full history (F3.5).
    if (turn.client === 'http' && !isAbsent(body.previous_response_id)) {
      throw new Refusal('previous_response_not_found', { param: 'previous_response_id' });
    }
    body.input = history;
  },
});
