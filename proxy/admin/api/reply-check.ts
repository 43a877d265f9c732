// Checks replies of the admin API against their schemas for a client. Further members of another version are accepted.
import { Ajv, type ValidateFunction } from 'ajv';
import type { Schema } from '../../turn/json/field-schemas.ts';
import { isList, isObject, type Json } from '../../turn/json/json.ts';

/** Schemas are not validated, because tests do that and a command would wait for it. */
const ajv = new Ajv({ validateSchema: false, code: { optimize: false }, strict: false, validateFormats: false });

/** A type guard for a schema, which is compiled at its first use. */
export function checkOf<Value>({ json }: Schema<Value>): (value: unknown) => value is Value {
  let check: ValidateFunction<Value> | undefined;
  return (value): value is Value => {
    check ??= ajv.compile<Value>(widened(json) as object);
    return check(value);
  };
}

/** The schema without `additionalProperties: false`, and without bounds that only apply to requests. */
function widened(schema: Json): Json {
  if (isList(schema)) return schema.map(widened);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) =>
      name === 'additionalProperties' && value === false ? [] : [[name, value === undefined ? null : widened(value)]],
    ),
  );
}
