// The tokens of images that a hosted tool made. Providers state them separately from the usage of the model (Q18, Q22).
import { isObject, type JsonObject } from '../json/json.ts';

/** Undefined if the response states none. */
export function imageUsage({ tool_usage }: JsonObject): JsonObject | undefined {
  const images = isObject(tool_usage) ? tool_usage.image_gen : undefined;
  return isObject(images) ? images : undefined;
}
