// The schemas of settings in config.yaml, for requests that set them, so that bounds are stated once.
import { resolved, type SchemaNode, settings } from '../../config/schema/schema.ts';
import type { Schema } from '../../turn/json/field-schemas.ts';
import type { JsonObject } from '../../turn/json/json.ts';

const NODES: ReadonlyMap<string, SchemaNode> = new Map([...settings()].map(({ path, node }) => [path, node]));

/** @param path the path of the setting, such as `keys[].limits` */
export function settingSchema<Value>(path: string): Schema<Value> {
  const node = NODES.get(path);
  if (!node) throw new Error(`there is no setting ${path}`);
  return { json: standalone(node) };
}

/** The schema without references, and without defaults, which only apply to files. */
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
