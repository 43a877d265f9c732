// Rows of the request log in the form that tools return: fields that may leave the gateway (Q25), absent values as null, times as text.
import type { Described, Description } from '../../store/schema/described-fields.ts';
import { ATTEMPT, type AttemptRow, REQUEST, type RequestRow } from '../../store/schema/logged-rows.ts';
import { counts, flag, integer, nullable, object, oneOf, type Schema, text, time } from '../turn/json/field-schemas.ts';
import { iso } from './times.ts';

type ShownRow = Readonly<Record<string, unknown>>;

const shownFields = (fields: Description): readonly (readonly [string, Described])[] =>
  Object.entries(fields).filter(([, { isInternal }]) => !isInternal);

const schemasOf = (fields: Description): Readonly<Record<string, Schema<unknown>>> =>
  Object.fromEntries(shownFields(fields).map(([name, field]) => [name, schemaOf(field)]));

function schemaOf(field: Described): Schema<unknown> {
  const schema = schemaOfValue(field);
  return field.isNullable ? nullable(schema) : schema;
}

function schemaOfValue({ type, meaning, words, oneOf: only, isTime, members, optional = [] }: Described): Schema<unknown> {
  const description = words ? `${meaning} ${listed(words)}.` : meaning;
  if (isTime) return time(description);
  if (type === 'integer') return integer(description);
  if (type === 'boolean') return flag(description);
  if (type === 'text') return only ? oneOf(only, description) : text(description);
  if (!members) return counts(description);
  const required = Object.entries(members).map(([name, field]) => [name, optional.includes(name) ? { ...field, isNullable: true } : field]);
  return object(schemasOf(Object.fromEntries(required)), description);
}

const listed = (words: Readonly<Record<string, string>>): string =>
  Object.entries(words)
    .map(([word, meaning]) => `${word}: ${meaning}`)
    .join('; ');

function shown({ isTime, members }: Described, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (isTime) return iso(value as number);
  return members ? shownRow(members, value as ShownRow) : value;
}

const shownRow = (fields: Description, row: ShownRow): ShownRow =>
  Object.fromEntries(shownFields(fields).map(([name, field]) => [name, shown(field, row[name])]));

export const REQUEST_ROW: Schema<ShownRow> = object(schemasOf(REQUEST));

export const shownRequest = (row: RequestRow): ShownRow => shownRow(REQUEST, row);

const BEGAN_AFTER =
  'Milliseconds from the arrival of the request to the beginning of this attempt: reading the body, waiting, earlier attempts.';

export const REQUEST_ATTEMPT: Schema<ShownRow> = object({ ...schemasOf(ATTEMPT), began_after_ms: integer(BEGAN_AFTER) });

export const shownAttempt = (attempt: AttemptRow, { at }: RequestRow): ShownRow => ({
  ...shownRow(ATTEMPT, attempt),
  began_after_ms: Math.max(0, attempt.at - at),
});
