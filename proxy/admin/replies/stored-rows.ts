// The JSON Schema of a stored row as the API returns it: all fields, with times in Unix milliseconds.
import type { Described, DescribedRow, Description } from '../../../store/schema/described-fields.ts';
import { counts, flag, integer, nullable, object, oneOf, type Schema, text } from '../../turn/json/field-schemas.ts';

export const rowSchema = <Fields extends Description>(fields: Fields): Schema<DescribedRow<Fields>> =>
  object(schemasOf(fields)) as Schema<unknown> as Schema<DescribedRow<Fields>>;

const schemasOf = (fields: Description): Readonly<Record<string, Schema<unknown>>> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]));

function schemaOf(field: Described): Schema<unknown> {
  const schema = schemaOfValue(field);
  return field.isNullable ? nullable(schema) : schema;
}

function schemaOfValue({ type, meaning, isTime, oneOf: words, members, optional = [] }: Described): Schema<unknown> {
  if (type === 'integer') return integer(isTime ? `${meaning} Unix milliseconds.` : meaning);
  if (type === 'boolean') return flag(meaning);
  if (type === 'text') return words ? oneOf(words, meaning) : text(meaning);
  if (!members) return counts(meaning);
  const of = (isOptional: boolean): Description =>
    Object.fromEntries(Object.entries(members).filter(([name]) => optional.includes(name) === isOptional));
  return object(schemasOf(of(false)), meaning, schemasOf(of(true)));
}
