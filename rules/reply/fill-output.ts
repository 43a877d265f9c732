// Completes the `output` of a response from the finished items of its stream (Q15, RB17).
import { isObject } from '../../proxy/turn/json/json.ts';
import { FinishedItems } from '../../proxy/turn/reply/finished-output.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { COMPATIBLE_TURNS, TRANSLATED_IMAGES } from '../route-groups.ts';

/** An item counts twice in memory: it is kept, and may be written once more. */
const COPIES = 2;

/** Listed before the rules that edit finished items. Replies run up the list, so it collects the edited items. */
export const fillOutput = rule<FinishedItems>({
  name: 'fill-output',
  routes: [...COMPATIBLE_TURNS, ...TRANSLATED_IMAGES],
  request: () => new FinishedItems(),
  events: ['response.created', 'response.output_item.done', 'response.completed', 'response.incomplete'],
  event(event, finished, turn) {
    const { response } = event.data;
    if (event.type === 'response.output_item.done') {
      if (finished.add(event.data)) turn.holdReply(COPIES * (event.size ?? 0));
      return event;
    }
    // A new reply begins: finished items of an earlier attempt do not belong to it.
    if (event.type === 'response.created') finished.clear();
    else if (isObject(response)) {
      const filled = finished.fill(response);
      if (filled !== response) return { ...event, data: { ...event.data, response: filled } };
    }
    return event;
  },
  answer: (response, finished) => finished.fill(response),
});
