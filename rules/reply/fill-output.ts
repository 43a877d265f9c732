// Fills the empty `output` of a completed response from the finished items of its stream (Q15).
import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject } from '../../proxy/turn/json.ts';
import { rule } from '../../proxy/turn/rule.ts';
import { COMPATIBLE_TURNS, TRANSLATED_IMAGES } from '../route-groups.ts';

/** An item is kept, and may be written once more. */
const COPIES = 2;

/** Finished items by their output index; an item without an index gets the next free one. */
type Finished = Map<number, Json>;

/** Listed before the rules that edit finished items: replies run up the list, so it collects the items as they were edited. */
export const fillOutput = rule<Finished>({
  name: 'fill-output',
  routes: [...COMPATIBLE_TURNS, ...TRANSLATED_IMAGES],
  request: () => new Map(),
  events: ['response.created', 'response.output_item.done', 'response.completed', 'response.incomplete'],
  event(event, finished, turn) {
    const { response, item, output_index } = event.data;
    if (event.type === 'response.output_item.done') {
      if (isObject(item)) {
        turn.holdReply(COPIES * (event.size ?? 0));
        finished.set(typeof output_index === 'number' ? output_index : finished.size, item);
      }
      return event;
    }
    // A new reply: finished items of an earlier attempt do not belong to it.
    if (event.type === 'response.created') finished.clear();
    else if (isObject(response)) {
      const filled = fill(response, finished);
      if (filled !== response) return { ...event, data: { ...event.data, response: filled } };
    }
    return event;
  },
  answer: fill,
});

function fill(response: JsonObject, finished: Finished): JsonObject {
  const { output } = response;
  const empty = output === undefined || output === null || (isList(output) && output.length === 0);
  if (!empty || finished.size === 0) return response;
  return { ...response, output: [...finished].sort(([a], [b]) => a - b).map(([, item]) => item) };
}
