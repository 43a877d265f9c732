// Lowering: what the backend accepts of a non-strict function schema, at every depth (Q31).
import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject, mapList, mapMembers } from '../../proxy/turn/json.ts';
import { KEYWORDS, type KeywordKind, namesType, refuseDepth } from './schema.ts';

/**
 * The lowered parameters; the same object where there was nothing to lower, so lowering twice is lowering once. What is no schema at
 * all is left as sent, for the provider to judge. `param` names the place in a refusal.
 */
export function lowerParameters(parameters: Json, param: string): Json {
  if (typeof parameters === 'boolean') return { type: 'object', properties: {} };
  if (!isObject(parameters)) return parameters;
  const root = parameters.type === 'object' ? parameters : { ...parameters, type: 'object' };
  return lowerSchema(root, { param, depth: 0 });
}

interface Place {
  readonly param: string;
  readonly depth: number;
}

function lowerSchema(schema: JsonObject, place: Place): JsonObject {
  refuseDepth(place.depth, place.param);
  const within = { param: place.param, depth: place.depth + 1 };
  const lowered: Record<string, Json> = {};
  let same = true;
  for (const keyword of Object.keys(schema)) {
    const before = schema[keyword];
    const kind = KEYWORDS.get(keyword);
    // A null is no value of these keywords: it counts as absent, so that the type below can be filled.
    if (kind === undefined || before === undefined || before === null) {
      same = false;
      continue;
    }
    const after = lowerValue(kind, keyword, before, within);
    if (after !== before) same = false;
    lowered[keyword] = after;
  }
  if (schema.const !== undefined) lowered.enum = [schema.const];
  return fillIn(lowered) && same ? schema : lowered;
}

function lowerValue(kind: KeywordKind, keyword: string, value: Json, within: Place): Json {
  switch (kind) {
    case 'data':
      return value;
    case 'schema':
      if (keyword === 'additionalProperties' && typeof value === 'boolean') return value;
      return isList(value) ? mapList(value, (one) => lowerNested(one, within)) : lowerNested(value, within);
    case 'list':
      return isList(value) ? mapList(value, (one) => lowerNested(one, within)) : value;
    case 'map':
      return isObject(value) ? mapMembers(value, (one) => lowerNested(one, within)) : value;
  }
}

function lowerNested(value: Json, place: Place): Json {
  if (typeof value === 'boolean') return {};
  return isObject(value) ? lowerSchema(value, place) : value;
}

/** Returns whether nothing was missing. */
function fillIn(schema: Record<string, Json>): boolean {
  let whole = true;
  const implied = schema.type === undefined ? impliedType(schema) : undefined;
  if (implied !== undefined) {
    schema.type = implied;
    whole = false;
  }
  if (schema.properties === undefined && namesType(schema.type, 'object')) {
    schema.properties = {};
    whole = false;
  }
  if (schema.items === undefined && namesType(schema.type, 'array')) {
    schema.items = {};
    whole = false;
  }
  return whole;
}

function impliedType({ properties, required, additionalProperties, items }: Readonly<Record<string, Json>>): string | undefined {
  if (properties !== undefined || required !== undefined || additionalProperties !== undefined) return 'object';
  return items === undefined ? undefined : 'array';
}
