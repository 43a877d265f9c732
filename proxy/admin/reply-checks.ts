// Checks of JSON values that a client of the admin listener receives: each is the guard of a type.
import type { Described, DescribedRow, Description } from '../../store/schema/described-fields.ts';

export type Check<Value> = (value: unknown) => value is Value;

export const string = (value: unknown): value is string => typeof value === 'string';
export const number = (value: unknown): value is number => typeof value === 'number';
export const boolean = (value: unknown): value is boolean => typeof value === 'boolean';

export const oneOf =
  <Word extends string>(...words: readonly Word[]): Check<Word> =>
  (value): value is Word =>
    (words as readonly unknown[]).includes(value);

export const nullable =
  <Value>(check: Check<Value>): Check<Value | null> =>
  (value): value is Value | null =>
    value === null || check(value);

export const list =
  <Value>(check: Check<Value>): Check<readonly Value[]> =>
  (value): value is readonly Value[] =>
    Array.isArray(value) && value.every(check);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const record =
  <Value>(check: Check<Value>): Check<Readonly<Record<string, Value>>> =>
  (value): value is Readonly<Record<string, Value>> =>
    isRecord(value) && Object.values(value).every(check);

/** A check for each required member of `Reply`: a member without one does not compile. Further members are accepted. */
type Checks<Reply> = { readonly [Name in keyof Reply as undefined extends Reply[Name] ? never : Name]-?: Check<Reply[Name]> };

export const object =
  <Reply extends object>(checks: Checks<Reply>): Check<Reply> =>
  (value): value is Reply =>
    isRecord(value) && Object.entries<(value: unknown) => boolean>(checks).every(([name, check]) => check(value[name]));

/** The value, or nothing where the member may be absent. */
export const optional =
  <Value>(check: Check<Value>): Check<Value | undefined> =>
  (value): value is Value | undefined =>
    value === undefined || check(value);

/** The check of a row that the store describes. */
export const rowOf = <Fields extends Description>(fields: Fields): Check<DescribedRow<Fields>> => {
  const checks = checksOf(fields);
  return (value): value is DescribedRow<Fields> => isRecord(value) && checks.every(([name, check]) => check(value[name]));
};

const checksOf = (fields: Description, optionalNames: readonly string[] = []): readonly (readonly [string, Check<unknown>])[] =>
  Object.entries(fields).map(([name, field]) => [name, optionalNames.includes(name) ? optional(checkOf(field)) : checkOf(field)]);

function checkOf(field: Described): Check<unknown> {
  const check = checkOfValue(field);
  return field.isNullable ? nullable(check) : check;
}

function checkOfValue({ type, oneOf: words, members, optional: optionalNames }: Described): Check<unknown> {
  if (type === 'integer') return number;
  if (type === 'boolean') return boolean;
  if (type === 'text') return words ? oneOf(...words) : string;
  if (!members) return record(number);
  const checks = checksOf(members, optionalNames);
  return (value): value is unknown => isRecord(value) && checks.every(([name, check]) => check(value[name]));
}
