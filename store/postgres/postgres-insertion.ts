// One INSERT for many rows of a table: common values are bound once, differing ones are sent as one JSON list per column.
import type { Value } from '../driver.ts';
import { StoreError } from '../errors.ts';
import type { ColumnType } from '../schema/decoders.ts';
import type { Field, TableColumns } from '../schema/tables.ts';
import { onConflict } from '../writing/conflict.ts';
import { storableJson } from './storable-text.ts';

/** A statement and its values. Batches that differ in the same columns have the same statement. */
export interface PostgresInsertion {
  readonly sql: string;
  readonly values: readonly Value[];
}

const TYPES: Readonly<Record<ColumnType, 'bigint' | 'text'>> = { text: 'text', json: 'text', integer: 'bigint', boolean: 'bigint' };

/**
 * Makes the INSERT of rows. A column whose values differ is sent as a JSON list: that takes a quarter of the main thread's time for an array
 * of the protocol, and half of the server's time for records.
 * @param rows at least one; patches all have the same fields
 * @param computed columns whose value is an expression
 * @throws StoreError `bad_row`
 */
export function insertionOf(
  table: TableColumns,
  rows: readonly object[],
  computed: Readonly<Record<string, string>> = {},
): PostgresInsertion {
  const values: Value[] = [];
  const lists: string[] = [];
  const absent: string[] = [];
  const sources = table.fields.map((field) => {
    const expression = computed[field.column];
    if (expression !== undefined) return expression;
    const type = TYPES[field.type];
    const list = rows.map((row) => plain(field, field.of(row)));
    const [first] = list;
    if (first === undefined && table.onConflict === 'patch') {
      absent.push(field.column);
      return `$${values.push(field.initial)}::${type}`;
    }
    const constant = list.every((value) => value === first) ? asBound(first) : undefined;
    if (constant !== undefined) return `$${values.push(constant)}::${type}`;
    lists.push(`json_array_elements_text($${values.push(jsonOf(table, list))}::json)`);
    return `c${lists.length}::${type}`;
  });
  const from = lists.length === 0 ? '' : ` FROM ROWS FROM (${lists.join(', ')}) AS listed (${lists.map((_, i) => `c${i + 1}`).join(', ')})`;
  const sql = `INSERT INTO ${table.name} (${table.columns.join(', ')}) SELECT ${sources.join(', ')}${from} ${onConflict(table, absent)}`;
  return { sql, values };
}

/** A value as the database stores it: integers without fractions, booleans as 0 and 1. */
function plain({ type }: Field, value: unknown): unknown {
  if (type === 'integer' && typeof value === 'number') return Math.trunc(value);
  return typeof value === 'boolean' ? Number(value) : value;
}

/** The value if it can be bound as it is, else undefined. A value that is not plain data fails when the JSON text is built. */
function asBound(value: unknown): Value | undefined {
  if (value === null || typeof value === 'string') return value;
  return Number.isFinite(value) ? (value as number) : undefined;
}

function jsonOf({ name }: TableColumns, list: readonly unknown[]): string {
  try {
    return storableJson(JSON.stringify(list));
  } catch (cause) {
    throw new StoreError('bad_row', `a row of ${name} is not plain data`, { cause });
  }
}
