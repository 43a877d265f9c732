// The JSON schema of a tool's parameters: which keywords hold schemas, what its root must be, how deep it may nest.
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import { isList, isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';

/** The value of a keyword. `schema`: a schema or a list of them. `list`: a list of schemas. `map`: schemas by name. `data`: plain data. */
export type KeywordKind = 'schema' | 'list' | 'map' | 'data';

/** The keywords of a function schema that the backend accepts (Q31); `const` is rewritten. */
export const KEYWORDS: ReadonlyMap<string, KeywordKind> = new Map([
  ['$ref', 'data'],
  ['description', 'data'],
  ['type', 'data'],
  ['enum', 'data'],
  ['required', 'data'],
  ['properties', 'map'],
  ['items', 'schema'],
  ['additionalProperties', 'schema'],
  ['anyOf', 'list'],
  ['oneOf', 'list'],
  ['allOf', 'list'],
  ['$defs', 'map'],
  ['definitions', 'map'],
]);

/** Alternatives and references. A schema with one of them is not described by its own members alone. */
export const INDIRECTIONS = ['$ref', 'anyOf', 'oneOf', 'allOf'] as const;

/** Whether a `type` is this word, or a list that contains it. */
export function namesType(type: Json | undefined, word: 'object' | 'array'): boolean {
  return type === word || (isList(type) && type.includes(word));
}

/** Whether the root is an object: `type` is the word `object`, without alternative or reference (Q24). Nested schemas are not checked. */
export function hasObjectRoot(schema: Json | undefined): schema is JsonObject {
  return isObject(schema) && schema.type === 'object' && INDIRECTIONS.every((keyword) => schema[keyword] === undefined);
}

/**
 * The most levels of nested schemas. Providers accept about ten levels of a strict schema; the limit prevents a hostile schema from
 * exhausting the stack.
 */
export const MAX_SCHEMA_DEPTH = 256;

export function refuseDepth(depth: number, param: string): void {
  if (depth <= MAX_SCHEMA_DEPTH) return;
  throw new Refusal('invalid_function_parameters', { param, message: `\`${param}\` nests deeper than ${MAX_SCHEMA_DEPTH} schemas.` });
}
