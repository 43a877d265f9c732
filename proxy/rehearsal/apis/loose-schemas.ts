// What a platform asks of a strict schema: each object requires all of its members and no others, and each array has items (AA88).
import { asList, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import { refuse } from '../request-refusals.ts';

/** Where the platform names the schema, and how it names what the schema is for. */
export interface SchemaPlace {
  readonly param: string;
  /** `function 'look'`. */
  readonly of: string;
  readonly code: 'invalid_function_parameters' | 'invalid_json_schema';
}

/** @throws SimulatedError */
export function refuseLooseSchema(schema: Json | undefined, { param, of, code }: SchemaPlace): void {
  const missing = isObject(schema) ? looseIn(schema) : undefined;
  if (missing !== undefined) refuse(param, `Invalid schema for ${of}: ${missing}`, code);
}

/** The first rule that the schema or one inside it breaks. */
function looseIn(schema: JsonObject): string | undefined {
  const own = brokenRule(schema);
  if (own !== undefined) return own;
  for (const inner of schemasIn(schema)) {
    const broken = looseIn(inner);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

function brokenRule({ type, properties, required, additionalProperties, items }: JsonObject): string | undefined {
  const types = typeof type === 'string' ? [type] : asList(type);
  if (types.includes('array') && items === undefined) return 'array schema missing items.';
  if (!types.includes('object') && properties === undefined) return undefined;
  if (additionalProperties !== false) return "'additionalProperties' is required to be supplied and to be false.";
  const names = isObject(properties) ? Object.keys(properties) : [];
  if (names.every((name) => asList(required).includes(name))) return undefined;
  return "'required' is required to be supplied and to be an array including every key in properties.";
}

function schemasIn({ properties, $defs, definitions, items, anyOf }: JsonObject): readonly JsonObject[] {
  const named = [properties, $defs, definitions].flatMap((schemas) => (isObject(schemas) ? Object.values(schemas) : []));
  return [...named, ...asList(anyOf), items].filter(isObject);
}
