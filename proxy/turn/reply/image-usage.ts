// The tokens of images that a hosted tool made: providers state them separately from the usage of the model (Q18, Q22).
import { isObject, type JsonObject } from '../json/json.ts';

/** Undefined if none are stated. */
export function imageUsage({ tool_usage }: JsonObject): JsonObject | undefined {
  const images = isObject(tool_usage) ? tool_usage.image_gen : undefined;
  return isObject(images) ? images : undefined;
}
