// The JSON Schema of config.yaml: keys with descriptions, bounds and defaults.
import defaultRoutes from './default-routes.json' with { type: 'json' };
import document from './schema.json' with { type: 'json' };

/** The keywords of JSON Schema that schema.json uses, and three of its own. */
export interface SchemaNode {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly items?: SchemaNode;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: false | SchemaNode;
  readonly $ref?: string;
  /** The message for an invalid value, which editors show too. */
  readonly errorMessage?: string;
  /** Whether a change takes effect only after a restart. */
  readonly restart?: boolean;
}

const { properties } = document;

/** The default of the route table is generated from the shipped file (scripts/docs-tables.ts). */
export const schema = {
  ...document,
  properties: { ...properties, routes: { ...properties.routes, default: defaultRoutes } },
} as unknown as SchemaNode & { readonly definitions: Readonly<Record<string, SchemaNode>> };

/** A node with its `$ref` resolved. The node's own keywords have precedence. */
export function resolved(node: SchemaNode): SchemaNode {
  if (node.$ref === undefined) return node;
  const target = schema.definitions[node.$ref.replace('#/definitions/', '')];
  if (!target) throw new Error(`schema.json refers to ${node.$ref}, which it does not define`);
  const { $ref: _, ...own } = node;
  return { ...resolved(target), ...own };
}

/** A setting of the schema, with a path such as `accounts[].headers` or `pools[].models.*.prices`. */
export interface Setting {
  readonly path: string;
  readonly node: SchemaNode;
  readonly required: boolean;
}

/** All settings, parents before their children, in the order of the file. */
export function* settings(node: SchemaNode = schema, path = ''): Generator<Setting> {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    const own = resolved(child);
    const name = path === '' ? key : `${path}.${key}`;
    yield { path: name, node: own, required: node.required?.includes(key) ?? false };
    yield* below(own, name);
  }
}

function* below(node: SchemaNode, path: string): Generator<Setting> {
  yield* settings(node, path);
  if (node.items) yield* below(resolved(node.items), `${path}[]`);
  if (node.additionalProperties) yield* below(resolved(node.additionalProperties), `${path}.*`);
}
