// One INSERT for many rows of a table: what the rows have in common is bound once, what differs travels as a single JSON text.
import type { Value } from '../driver.ts';
import { StoreError } from '../errors.ts';
import type { Table } from '../tables.ts';

/** A statement and its values. Batches that differ in the same columns have the same statement. */
export interface Insertion {
  readonly sql: string;
  readonly values: readonly Value[];
}

/**
 * Binding each value would cost the main thread more than one text of them all, and each value taken out of that text costs SQLite a
 * walk over those before it. Rows of one batch agree in most columns, so that these are left out of it.
 * @param rows at least one
 * @throws StoreError `bad_row`
 */
export function insertionOf(table: Table, rows: readonly object[]): Insertion {
  const first = rows[0] as Row;
  const differing = table.columns.map((column) => asBound(first[column]) === undefined);
  for (const row of rows) table.compare(first, row, differing);
  const varying = table.columns.filter((_, i) => differing[i]);
  const values: Value[] = [jsonOf(table, rows as readonly Row[], varying)];
  const sources = table.columns.map((column) => {
    const place = varying.indexOf(column);
    return place >= 0 ? `value ->> ${place}` : `?${values.push(asBound(first[column]) as Value)}`;
  });
  return { sql: statement(table, sources), values };
}

type Row = Readonly<Record<string, unknown>>;

/** What SQLite would make of a value in JSON text; undefined where that is not the value itself. */
function asBound(value: unknown): Value | undefined {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return Number(value);
  return Number.isFinite(value) ? (value as number) : undefined;
}

/** A list of the rows, each a list of these columns' values. */
function jsonOf({ name }: Table, rows: readonly Row[], columns: readonly string[]): string {
  try {
    return JSON.stringify(rows.map((row) => columns.map((column) => row[column])));
  } catch (cause) {
    throw new StoreError('bad_row', `a row of ${name} is no plain data`, { cause });
  }
}

/** `WHERE true` tells the parser that ON CONFLICT is no join condition; json_each would write each row out as text again for every column. */
function statement({ name, columns, key, again }: Table, sources: readonly string[]): string {
  const updates: Readonly<Record<Table['again'], string>> = {
    keep: 'NOTHING',
    replace: `UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    add: `UPDATE SET ${columns.flatMap((column) => (key.includes(column) ? [] : `${column} = ${name}.${column} + excluded.${column}`)).join(', ')}`,
  };
  return (
    `INSERT INTO ${name} (${columns.join(', ')}) SELECT ${sources.join(', ')} FROM jsonb_each(?1) WHERE true ` +
    `ON CONFLICT (${key.join(', ')}) DO ${updates[again]}`
  );
}
