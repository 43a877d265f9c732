// The schema of a setting of config.yaml, for requests that set it: bounds are stated once.
import { resolved, type SchemaNode, settings } from '../../config/schema/schema.ts';
import type { Schema } from '../../turn/json/field-schemas.ts';
import type { JsonObject } from '../../turn/json/json.ts';

/** @param path `keys[].limits` */
export function settingSchema<Value>(path: string): Schema<Value> {
  for (const setting of settings()) if (setting.path === path) return { json: standalone(setting.node) };
  throw new Error(`there is no setting ${path}`);
}

/** Without references, and without defaults, which are for files. */
function standalone(node: SchemaNode): JsonObject {
  const { $ref: _, default: __, restart: ___, errorMessage, properties, items, additionalProperties, ...rest } = resolved(node);
  return {
    ...(rest as JsonObject),
    ...(errorMessage !== undefined && { 'x-takes': errorMessage.replace(/^must be /, '') }),
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, standalone(inner)])) }),
    ...(items && { items: standalone(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: additionalProperties === false ? false : standalone(additionalProperties),
    }),
  };
}
