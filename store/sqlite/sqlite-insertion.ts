// One INSERT for many rows of a table: common values are bound once, differing ones are sent as a single JSON text.
import type { Value } from '../driver.ts';
import { StoreError } from '../errors.ts';
import type { Field, TableColumns } from '../schema/tables.ts';
import { onConflict } from '../writing/conflict.ts';

/** A statement and its values. Batches that differ in the same columns have the same statement. */
export interface SqliteInsertion {
  readonly sql: string;
  readonly values: readonly Value[];
}

/**
 * Sends the values of all rows as one JSON text, because binding each value would cost the main thread more. SQLite finds a value in the
 * text by reading all values before it. Most columns have the same value in all rows: such a value is bound once, and is not in the text.
 * @param rows at least one; patches all have the same fields
 * @throws StoreError `bad_row`
 */
export function insertionOf(table: TableColumns, rows: readonly object[]): SqliteInsertion {
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

/** The value as SQLite would read it from JSON text; undefined if that differs from the value itself. */
function asBound(value: unknown): Value | undefined {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return Number(value);
  return Number.isFinite(value) ? (value as number) : undefined;
}

/** A JSON list of rows; each row is a list of the values of these fields. */
function jsonOf({ name }: TableColumns, rows: readonly object[], fields: readonly Field[]): string {
  try {
    return JSON.stringify(rows.map((row) => fields.map((field) => field.of(row))));
  } catch (cause) {
    throw new StoreError('bad_row', `a row of ${name} is not plain data`, { cause });
  }
}

/** `WHERE true` shows the parser that ON CONFLICT is no join condition. json_each would encode each row again for every column. */
const statement = (table: TableColumns, sources: readonly string[], absent: readonly string[]): string =>
  `INSERT INTO ${table.name} (${table.columns.join(', ')}) SELECT ${sources.join(', ')} FROM jsonb_each(?1) WHERE true ` +
  onConflict(table, absent);
