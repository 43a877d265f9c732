// Checks replies of the admin API by their schemas, for a client: members that another version has in addition are accepted.
import { Ajv, type ValidateFunction } from 'ajv';
import type { Schema } from '../../turn/json/field-schemas.ts';
import { isList, isObject, type Json } from '../../turn/json/json.ts';

/** Tests validate the schemas themselves: a command does not wait for that. */
const ajv = new Ajv({ validateSchema: false, code: { optimize: false }, strict: false, validateFormats: false });

/** The guard of a schema's type; compiled at its first use. */
export function checkOf<Value>({ json }: Schema<Value>): (value: unknown) => value is Value {
  let check: ValidateFunction<Value> | undefined;
  return (value): value is Value => {
    check ??= ajv.compile<Value>(widened(json) as object);
    return check(value);
  };
}

/** Without `additionalProperties: false`, and without bounds that only requests have. */
function widened(schema: Json): Json {
  if (isList(schema)) return schema.map(widened);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) =>
      name === 'additionalProperties' && value === false ? [] : [[name, value === undefined ? null : widened(value)]],
    ),
  );
}
