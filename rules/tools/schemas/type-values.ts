// Checks explicit `type` values in strict parameters: a known word, or a list of different ones (F5.6, Q16).
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { isList, isObject } from '../../../proxy/turn/json/json.ts';
import { KEYWORDS, refuseDepth } from './tool-schema.ts';

const TYPES: ReadonlySet<Json> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

/** Checks schemas only: neither a property with the name `type` nor a value of an `enum`. */
export function refuseTypeValues(schema: Json, param: string, depth = 0): void {
  if (!isObject(schema)) return;
  refuseDepth(depth, param);
  if (schema.type !== undefined && !isTypeValue(schema.type)) {
    throw new Refusal('invalid_function_parameters', { param, message: `\`${param}\` has a malformed, duplicate or unknown type.` });
  }
  for (const within of schemasOf(schema)) refuseTypeValues(within, param, depth + 1);
}

function isTypeValue(type: Json): boolean {
  if (!isList(type)) return TYPES.has(type);
  return type.length > 0 && type.length <= TYPES.size && type.every((one) => TYPES.has(one)) && new Set(type).size === type.length;
}

function* schemasOf(schema: JsonObject): Generator<Json> {
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined) continue;
    const kind = KEYWORDS.get(keyword);
    if (kind === 'data' || kind === undefined) continue;
    if (isList(value)) yield* value;
    else if (kind === 'map' && isObject(value)) yield* Object.values(value).filter((one) => one !== undefined);
    else yield value;
  }
}
