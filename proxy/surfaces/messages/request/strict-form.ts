// Whether a JSON schema has the form that strict output needs (AM27).
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';

/** Members of a schema that contain a schema, a list of schemas, or a map of schemas. */
const ONE = ['items', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'] as const;
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const;
const MAPS = ['properties', '$defs', 'definitions', 'patternProperties'] as const;

/** Whether the root is of the type object, and every object is closed and requires all its properties. */
export const hasStrictForm = (schema: JsonObject): boolean => schema.type === 'object' && isStrict(schema);

function isStrict(schema: Json | undefined): boolean {
  if (!isObject(schema)) return true;
  if (isObjectSchema(schema) && !isClosed(schema)) return false;
  return (
    ONE.every((member) => isStrict(schema[member])) &&
    LISTS.every((member) => asList(schema[member]).every(isStrict)) &&
    MAPS.every((member) => isObject(schema[member]) === false || Object.values(schema[member] as JsonObject).every(isStrict))
  );
}

const isObjectSchema = ({ type, properties }: JsonObject): boolean =>
  type === 'object' || asList(type).includes('object') || isObject(properties);

function isClosed({ properties, required, additionalProperties }: JsonObject): boolean {
  const names = new Set(asList(required));
  return additionalProperties === false && Object.keys(isObject(properties) ? properties : {}).every((name) => names.has(name));
}
