// A JSON schema as tools carry it: which keywords hold schemas, and how deep they may go.

import type { Json } from '../../proxy/turn/json.ts';
import { isList } from '../../proxy/turn/json.ts';
import { Refusal } from '../../proxy/turn/refusal.ts';

/** What a keyword's value is: a schema or a list of them, a list of schemas, schemas by name, or plain data. */
export type KeywordKind = 'schema' | 'list' | 'map' | 'data';

/** The keywords that the backend accepts of a function schema (Q31); `const` is rewritten. */
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

/** Alternatives and indirections: where one stands, the node's own members do not tell all of it. */
export const INDIRECTIONS = ['$ref', 'anyOf', 'oneOf', 'allOf'] as const;

/** Whether a `type` is this word, or a list with it. */
export function namesType(type: Json | undefined, word: 'object' | 'array'): boolean {
  return type === word || (isList(type) && type.includes(word));
}

/**
 * Schemas within schemas. Providers take about ten levels of a strict schema; a limit far above what anybody writes keeps a hostile
 * one from exhausting the stack, at a cost that stays linear.
 */
export const MAX_SCHEMA_DEPTH = 256;

export function refuseDepth(depth: number, param: string): void {
  if (depth <= MAX_SCHEMA_DEPTH) return;
  throw new Refusal('invalid_function_parameters', { param, message: `\`${param}\` nests deeper than ${MAX_SCHEMA_DEPTH} schemas.` });
}
