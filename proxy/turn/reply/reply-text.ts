// The JSON text of a provider's reply after rules have changed it.
import { Refusal } from '../errors/refusal.ts';
import type { Json } from '../json/json.ts';

/**
 * Writes JSON by recursion, while JSON can be parsed at any depth.
 * @throws Refusal `upstream_error` if the JSON is too deep or too long to be written
 */
export function replyText(value: Json): string {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    throw thrown instanceof RangeError ? new Refusal('upstream_error') : thrown;
  }
}
