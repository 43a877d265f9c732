// A turn's token usage, read from its terminal event or collected answer as the provider states it (Q18).

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isObject } from '../../proxy/turn/json.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { rule } from '../rule.ts';

interface Expects {
  /** A websocket client's prewarm (`generate: false`) makes no tokens: without usage it is zero, where others are unknown. */
  readonly tokens: boolean;
}

/** Stands last, so that it reads the reply before any other rule has edited it. */
export const usage = rule<Expects>({
  name: 'usage',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request: ({ body }) => ({ tokens: body.generate !== false }),
  events: ['response.completed', 'response.incomplete', 'response.failed'],
  event(event, expects, turn) {
    if (isObject(event.data.response)) noteUsage(event.data.response, expects, turn);
    return event;
  },
  answer(response, expects, turn) {
    noteUsage(response, expects, turn);
    return response;
  },
});

function noteUsage(response: JsonObject, expects: Expects, turn: Turn): void {
  const stated = isObject(response.usage) ? response.usage : undefined;
  const details = isObject(stated?.input_tokens_details) ? stated.input_tokens_details : undefined;
  const counts = {
    input_tokens: stated?.input_tokens,
    cached_input_tokens: details?.cached_tokens,
    output_tokens: stated?.output_tokens,
  } as const;
  for (const field of ['input_tokens', 'cached_input_tokens', 'output_tokens'] as const) {
    const count = stated || expects.tokens ? tokenCount(counts[field]) : 0;
    // Unknown is not noted, and never becomes zero.
    if (count !== undefined) turn.note(field, count);
  }
}

const tokenCount = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
