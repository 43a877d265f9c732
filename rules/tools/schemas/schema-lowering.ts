// Lowering: reduces a non-strict function schema to the part that the backend accepts, at every depth (Q31).
import { isList, isObject, type Json, type JsonObject, mapList, mapMembers } from '../../../proxy/turn/json/json.ts';
import { KEYWORDS, type KeywordKind, namesType, refuseDepth } from './tool-schema.ts';

/**
 * The lowered parameters; the same object if there was nothing to lower. A value that is no schema is left as sent, and the provider
 * refuses it. `param` is the path in a refusal.
 */
export function lowerParameters(parameters: Json, param: string): Json {
  if (typeof parameters === 'boolean') return { type: 'object', properties: {} };
  if (!isObject(parameters)) return parameters;
  const root = parameters.type === 'object' ? parameters : { ...parameters, type: 'object' };
  return lowerSchema(root, { param, depth: 0 });
}

interface Position {
  readonly param: string;
  readonly depth: number;
}

function lowerSchema(schema: JsonObject, position: Position): JsonObject {
  refuseDepth(position.depth, position.param);
  const within = { param: position.param, depth: position.depth + 1 };
  const lowered: Record<string, Json> = {};
  let same = true;
  for (const keyword of Object.keys(schema)) {
    const before = schema[keyword];
    const kind = KEYWORDS.get(keyword);
    // Null counts as absent, so that the type below can be filled in.
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

function lowerValue(kind: KeywordKind, keyword: string, value: Json, within: Position): Json {
  switch (kind) {
    case 'data':
      return value;
    case 'schema':
      if (keyword === 'additionalProperties' && typeof value === 'boolean') return value;
      return isList(value) ? lowerTuple(value, within) : lowerNested(value, within);
    case 'list':
      return isList(value) ? mapList(value, (one) => lowerNested(one, within)) : value;
    case 'map':
      return isObject(value) ? mapMembers(value, (one) => lowerNested(one, within)) : value;
  }
}

/**
 * Lowers a tuple. The backend accepts one schema for all items, so a tuple, in its older spelling, becomes a choice among its members.
 */
function lowerTuple(members: readonly Json[], within: Position): JsonObject {
  return members.length === 0 ? {} : { anyOf: members.map((one) => lowerNested(one, within)) };
}

function lowerNested(value: Json, position: Position): Json {
  if (typeof value === 'boolean') return {};
  return isObject(value) ? lowerSchema(value, position) : value;
}

/** Adds the missing members. @returns whether none was missing */
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
