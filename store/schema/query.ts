// SELECTs from conditions that may be absent; numbers the placeholders so that both databases understand them.
import type { Driver, SqlSession, Value } from '../driver.ts';
import type { Table } from './tables.ts';

/** A condition with a `?` for each of its values. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** What runs a query. */
export type Reader = Pick<SqlSession, 'query'>;

/** The reader for operators: turns do not wait for its reads. */
export const operators = (driver: Driver): Reader => ({ query: driver.browse });

interface Selection {
  /** Conditions that all have to hold; undefined ones are left out. */
  readonly where?: readonly (Condition | undefined)[];
  readonly order?: string;
  readonly limit?: number;
}

export const where = (sql: string, ...values: readonly Value[]): Condition => ({ sql, values });

export const equals = (column: string, value: Value | undefined): Condition | undefined =>
  value === undefined ? undefined : where(`${column} = ?`, value);

export const isIn = (column: string, values: readonly Value[] | undefined): Condition | undefined =>
  values && where(values.length > 0 ? `${column} IN (${values.map(() => '?').join(', ')})` : '1 = 0', ...values);

/**
 * A list for `IN`, filled up to the next power of two with its last value. So lists of many lengths need few statements, each prepared
 * once.
 */
export const filled = <T extends Value>(values: readonly T[]): readonly T[] =>
  values.length < 2
    ? values
    : Array.from({ length: 2 ** Math.ceil(Math.log2(values.length)) }, (_, i) => values[i] ?? (values.at(-1) as T));

/** @param session `driver` for the reads of turns, `operators(driver)` for others */
export async function select<Row extends object, Input extends object>(
  session: Reader,
  table: Table<Row, Input>,
  selection: Selection,
): Promise<readonly Row[]> {
  const { sql: conditions, values } = conditionsOf(selection.where ?? []);
  let sql = `SELECT ${table.columns.join(', ')} FROM ${table.name}${conditions}`;
  if (selection.order) sql += ` ORDER BY ${selection.order}`;
  if (selection.limit !== undefined) {
    sql += ' LIMIT ?';
    values.push(selection.limit);
  }
  return (await session.query(numbered(sql), values)).map(table.decode);
}

/** The most keys of one query. */
const KEYS = 128;

/** The existing rows of these keys, in any order. */
export async function selectKeys<Row extends object, Input extends object>(
  session: Reader,
  table: Table<Row, Input>,
  keys: readonly Partial<Record<keyof Row, Value>>[],
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let from = 0; from < keys.length; from += KEYS) {
    const some = padded(keys.slice(from, from + KEYS));
    const one = `(${table.key.map((column) => `${column} = ?`).join(' AND ')})`;
    const values = some.flatMap((key) => table.key.map((column) => key[column as keyof Row] ?? null));
    rows.push(...(await select(session, table, { where: [where(`(${some.map(() => one).join(' OR ')})`, ...values)] })));
  }
  return rows;
}

/** Repeats the last key up to a power of two, so that engines compile and keep few forms of the statement. */
function padded<Key>(keys: readonly Key[]): readonly Key[] {
  const length = 2 ** Math.ceil(Math.log2(keys.length));
  return Array.from({ length }, (_, i) => keys[Math.min(i, keys.length - 1)] as Key);
}

/** ` WHERE …`, or an empty text without conditions. */
export function conditionsOf(where: readonly (Condition | undefined)[]): { readonly sql: string; readonly values: Value[] } {
  const conditions = where.filter((condition) => condition !== undefined);
  const sql = conditions.length > 0 ? ` WHERE ${conditions.map((condition) => condition.sql).join(' AND ')}` : '';
  return { sql, values: conditions.flatMap((condition) => condition.values) };
}

/** Replaces each `?` by a numbered placeholder. */
export function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll('?', () => `$${++number}`);
}
