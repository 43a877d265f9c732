// SELECTs from conditions that may be absent; numbers the placeholders so that both databases understand them.
import type { Driver, Value } from './driver.ts';
import type { Table } from './tables.ts';

/** A condition with a `?` for each of its values. */
interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

interface Selection {
  /** Undefined ones are left out. */
  readonly where?: readonly (Condition | undefined)[];
  readonly order?: string;
  readonly limit?: number;
}

export const where = (sql: string, ...values: readonly Value[]): Condition => ({ sql, values });

export const equals = (column: string, value: Value | undefined): Condition | undefined =>
  value === undefined ? undefined : where(`${column} = ?`, value);

export const oneOf = (column: string, values: readonly Value[] | undefined): Condition | undefined =>
  values && where(values.length > 0 ? `${column} IN (${values.map(() => '?').join(', ')})` : '1 = 0', ...values);

export async function select<Row extends object, Input extends object>(
  driver: Driver,
  table: Table<Row, Input>,
  selection: Selection,
): Promise<readonly Row[]> {
  const conditions = (selection.where ?? []).filter((condition) => condition !== undefined);
  const values = conditions.flatMap((condition) => condition.values);
  let sql = `SELECT ${table.columns.join(', ')} FROM ${table.name}`;
  if (conditions.length > 0) sql += ` WHERE ${conditions.map((condition) => condition.sql).join(' AND ')}`;
  if (selection.order) sql += ` ORDER BY ${selection.order}`;
  if (selection.limit !== undefined) {
    sql += ' LIMIT ?';
    values.push(selection.limit);
  }
  let number = 0;
  const records = await driver.query(
    sql.replaceAll('?', () => `$${++number}`),
    values,
  );
  return records.map(table.decode);
}
