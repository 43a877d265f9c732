// A completed response with an empty `output` is filled from the items that its stream had finished (Q15).
import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject } from '../../proxy/turn/json.ts';
import { rule } from '../rule.ts';

/** Finished items by their output index; one without an index takes the place at which it came. */
type Finished = Map<number, Json>;

/** Stands before the rules that edit finished items, so that on the way back it collects what they made of them. */
export const fillOutput = rule<Finished>({
  name: 'fill-output',
  routes: ['public-responses'],
  request: () => new Map(),
  events: ['response.created', 'response.output_item.done', 'response.completed', 'response.incomplete'],
  event(event, finished) {
    const { response, item, output_index } = event.data;
    if (event.type === 'response.output_item.done') {
      if (isObject(item)) finished.set(typeof output_index === 'number' ? output_index : finished.size, item);
      return event;
    }
    // A new reply: whatever an earlier attempt had finished is not its own.
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
