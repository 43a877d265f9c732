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
  const lists = rows.map(table.values);
  const [first = [], ...others] = lists;
  const values: Value[] = [''];
  const varying: number[] = [];
  const sources = first.map((value, column) => {
    const bound = asBound(value);
    if (bound === undefined || others.some((list) => list[column] !== value)) return `value ->> ${varying.push(column) - 1}`;
    return `?${values.push(bound)}`;
  });
  values[0] = jsonOf(table, lists, varying);
  return { sql: statement(table, sources), values };
}

/** What SQLite would make of a value in JSON text; undefined where that is not the value itself. */
function asBound(value: unknown): Value | undefined {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return Number(value);
  return Number.isFinite(value) ? (value as number) : undefined;
}

function jsonOf(table: Table, lists: readonly (readonly unknown[])[], columns: readonly number[]): string {
  try {
    return JSON.stringify(lists.map((list) => columns.map((column) => list[column])));
  } catch (cause) {
    throw new StoreError('bad_row', `a row of ${table.name} is no plain data`, { cause });
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
