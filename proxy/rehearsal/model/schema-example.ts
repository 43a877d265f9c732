// Makes a minimal value that satisfies a JSON Schema, for structured output and for the arguments of tool calls.
import { asList, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';

/** The depth at which schemas that refer to themselves are cut. Real schemas are less deep. */
const MAX_DEPTH = 12;

const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  'date-time': '2026-01-01T00:00:00Z',
  time: '00:00:00Z',
  email: 'rehearsal@provider.example',
  uri: 'https://provider.example/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
};

/** The smallest value: required members only, empty lists, first choices. Ignores `pattern`. */
export function exampleOf(schema: Json | undefined): Json {
  return example(schema, isObject(schema) ? schema : {}, 0);
}

function example(schema: Json | undefined, root: JsonObject, depth: number): Json {
  if (!isObject(schema) || depth > MAX_DEPTH) return null;
  if (schema.const !== undefined) return schema.const;
  const [choice] = asList(schema.enum);
  if (choice !== undefined) return choice;
  if (typeof schema.$ref === 'string') return example(target(schema.$ref, root), root, depth + 1);
  const { anyOf, oneOf, allOf, ...own } = schema;
  const branches = [asList(anyOf)[0] ?? asList(oneOf)[0], ...asList(allOf)].map((branch) => resolved(branch, root)).filter(isObject);
  return branches.length > 0 ? example(branches.reduce(merge, own), root, depth + 1) : typed(own, root, depth);
}

function resolved(schema: Json | undefined, root: JsonObject): Json | undefined {
  return isObject(schema) && typeof schema.$ref === 'string' ? target(schema.$ref, root) : schema;
}

/** Adds the branch of a combinator to a schema. Keywords of the schema take precedence; `properties` and `required` are united. */
function merge(schema: JsonObject, branch: JsonObject): JsonObject {
  const properties = { ...asObject(branch.properties), ...asObject(schema.properties) };
  return { ...branch, ...schema, properties, required: [...asList(schema.required), ...asList(branch.required)] };
}

function typed(schema: JsonObject, root: JsonObject, depth: number): Json {
  switch (typeOf(schema)) {
    case 'object': {
      const properties = asObject(schema.properties);
      const required = asList(schema.required).filter((name) => typeof name === 'string');
      return Object.fromEntries(required.map((name) => [name, example(properties[name] ?? {}, root, depth + 1)]));
    }
    case 'array': {
      const least = typeof schema.minItems === 'number' ? Math.min(schema.minItems, 100) : 0;
      return Array.from({ length: least }, () => example(schema.items ?? {}, root, depth + 1));
    }
    case 'string':
      return text(schema);
    case 'integer':
    case 'number':
      return number(schema);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function typeOf(schema: JsonObject): Json | undefined {
  if (Array.isArray(schema.type)) return schema.type.find((type) => type !== 'null') ?? 'null';
  if (schema.type !== undefined) return schema.type;
  if (Object.keys(asObject(schema.properties)).length > 0) return 'object';
  return schema.items === undefined ? undefined : 'array';
}

function text(schema: JsonObject): string {
  const known = typeof schema.format === 'string' ? FORMAT_EXAMPLES[schema.format] : undefined;
  const least = typeof schema.minLength === 'number' ? Math.min(schema.minLength, 10_000) : 0;
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : Number.POSITIVE_INFINITY;
  return (known ?? 'rehearsal').padEnd(least, '.').slice(0, most);
}

function number(schema: JsonObject): number {
  if (typeof schema.minimum === 'number') return Math.ceil(schema.minimum);
  if (typeof schema.exclusiveMinimum === 'number') return Math.floor(schema.exclusiveMinimum) + 1;
  return typeof schema.maximum === 'number' ? Math.min(1, Math.floor(schema.maximum)) : 1;
}

/** The target of a local reference (`#`, `#/$defs/name`). */
function target(ref: string, root: JsonObject): Json | undefined {
  let at: Json | undefined = root;
  for (const step of ref.split('/').slice(1)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at;
}

const asObject = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
