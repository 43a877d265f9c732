// A turn's token usage, read from its terminal event or collected answer as the provider states it (Q18).

import type { JsonObject } from '../../proxy/turn/json.ts';
import { isObject } from '../../proxy/turn/json.ts';
import { rule } from '../../proxy/turn/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { tokenCount } from '../helpers/token-count.ts';
import { TURNS } from '../route-groups.ts';

interface Expected {
  /** False for a websocket client's prewarm (`generate: false`): missing usage is zero there, and unknown elsewhere. */
  readonly tokens: boolean;
}

/** The last rule, so that it reads the reply before any other rule has edited it. */
export const usage = rule<Expected>({
  name: 'usage',
  routes: TURNS,
  request: ({ body }) => ({ tokens: body.generate !== false }),
  events: ['response.completed', 'response.incomplete', 'response.failed'],
  event(event, expected, turn) {
    if (isObject(event.data.response)) noteUsage(event.data.response, expected, turn);
    return event;
  },
  answer(response, expected, turn) {
    noteUsage(response, expected, turn);
    return response;
  },
});

function noteUsage(response: JsonObject, expected: Expected, turn: Turn): void {
  const stated = isObject(response.usage) ? response.usage : undefined;
  const details = isObject(stated?.input_tokens_details) ? stated.input_tokens_details : undefined;
  const counts = {
    input_tokens: stated?.input_tokens,
    cached_input_tokens: details?.cached_tokens,
    output_tokens: stated?.output_tokens,
  } as const;
  for (const field of ['input_tokens', 'cached_input_tokens', 'output_tokens'] as const) {
    const count = stated || expected.tokens ? tokenCount(counts[field]) : 0;
    // Unknown counts are not noted, and never become zero.
    if (count !== undefined) turn.note(field, count);
  }
}
