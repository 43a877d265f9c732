// Notes a turn's token usage, read from its terminal event or collected answer as the provider states it (Q18).
import { isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { imageUsage } from '../../proxy/turn/reply/image-usage.ts';
import { asTokens } from '../../proxy/turn/reply/stated-usage.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { NATIVE_IMAGES, RESPONSES_WORK } from '../route-groups.ts';

interface Expected {
  /** Whether missing usage is unknown. False for a websocket client's prewarm (`generate: false`), whose missing usage is zero. */
  readonly tokens: boolean;
}

/** Listed last, so that it reads the reply before any other rule edits it. */
export const usage = rule<Expected>({
  name: 'usage',
  routes: [...RESPONSES_WORK, ...NATIVE_IMAGES],
  request: ({ body }) => ({ tokens: body.generate !== false }),
  events: ['response.completed', 'response.incomplete', 'response.failed', 'image_generation.completed', 'image_edit.completed'],
  event(event, expected, turn) {
    // Image streams state their usage next to the image.
    const { response = event.data } = event.data;
    if (isObject(response)) noteUsage(response, expected, turn);
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
  const images = imageUsage(response);
  const counts = {
    input_tokens: sum(stated?.input_tokens, images?.input_tokens),
    cached_input_tokens: asTokens(details?.cached_tokens),
    output_tokens: sum(stated?.output_tokens, images?.output_tokens),
  } as const;
  for (const field of ['input_tokens', 'cached_input_tokens', 'output_tokens'] as const) {
    const count = stated || expected.tokens ? counts[field] : 0;
    // Unknown counts are not noted, and never become zero.
    if (count !== undefined) turn.note(field, count);
  }
}

/** Adds the image tool's tokens to the model's own. */
function sum(model: Json | undefined, images: Json | undefined): number | undefined {
  const tokens = asTokens(model);
  return tokens === undefined ? undefined : tokens + (asTokens(images) ?? 0);
}
