// One INSERT for many rows of a table: common values are bound once, differing ones are sent as a single JSON text.

import type { Value } from '../driver.ts';
import { StoreError } from '../errors.ts';
import type { Field, TableColumns } from '../schema/tables.ts';
import { onConflict } from '../writing/conflict.ts';

/** A statement and its values. Batches that differ in the same columns have the same statement. */
export interface Insertion {
  readonly sql: string;
  readonly values: readonly Value[];
}

/**
 * Binding each value would cost the main thread more than one text of them all, and each value that SQLite extracts from that text
 * costs it a walk over the values before it. Rows of one batch agree in most columns, so these are left out of the text.
 * @param rows at least one; patches have all the same fields
 * @throws StoreError `bad_row`
 */
export function insertionOf(table: TableColumns, rows: readonly object[]): Insertion {
  const first = rows[0] as object;
  const varying: Field[] = [];
  const bound: Value[] = [];
  const absent: string[] = [];
  const sources = table.fields.map((field) => {
    const value = field.of(first);
    if (value === undefined && table.onConflict === 'patch') {
      absent.push(field.column);
      return `?${bound.push(field.initial) + 1}`;
    }
    const constant = asBound(value);
    if (constant === undefined || differs(field, rows, value)) return `value ->> ${varying.push(field) - 1}`;
    return `?${bound.push(constant) + 1}`;
  });
  return { sql: statement(table, sources, absent), values: [jsonOf(table, rows, varying), ...bound] };
}

/** Whether any row has another value than the first. */
function differs(field: Field, rows: readonly object[], value: unknown): boolean {
  for (const row of rows) if (field.of(row) !== value) return true;
  return false;
}

/** What SQLite would make of a value in JSON text; undefined if that is not the value itself. */
function asBound(value: unknown): Value | undefined {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return Number(value);
  return Number.isFinite(value) ? (value as number) : undefined;
}

/** A list of the rows, each a list of these fields' values. */
function jsonOf({ name }: TableColumns, rows: readonly object[], fields: readonly Field[]): string {
  try {
    return JSON.stringify(rows.map((row) => fields.map((field) => field.of(row))));
  } catch (cause) {
    throw new StoreError('bad_row', `a row of ${name} is not plain data`, { cause });
  }
}

/** `WHERE true` shows the parser that ON CONFLICT is not a join condition; json_each would encode each row again for every column. */
const statement = (table: TableColumns, sources: readonly string[], absent: readonly string[]): string =>
  `INSERT INTO ${table.name} (${table.columns.join(', ')}) SELECT ${sources.join(', ')} FROM jsonb_each(?1) WHERE true ` +
  onConflict(table, absent);
