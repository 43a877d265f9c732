// The JSON text of a provider's reply after rules have changed it.
import { Refusal } from '../errors/refusal.ts';
import type { Json } from '../json/json.ts';

/**
 * JSON is parsed at any depth, and written by recursion.
 * @throws Refusal `upstream_error` if the provider nested it too deeply, or made it too long, to be written
 */
export function replyText(value: Json): string {
  try {
    return JSON.stringify(value);
  } catch (thrown) {
    throw thrown instanceof RangeError ? new Refusal('upstream_error') : thrown;
  }
}
