// Writes batches of rows to SQLite: in statements of a bounded size, with their change records.
import { type Guard, increment, lost, type RowBatch } from '../driver.ts';
import { changes, type Table } from '../schema/tables.ts';
import { changeRows, isTracked } from '../verbs/changes.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { insertionOf } from './sqlite-insertion.ts';
import { committed } from './sqlite-transaction.ts';

/** Ordinary rows of one statement. Their text is encoded on the main thread in one go, and each further statement wakes two threads. */
const STATEMENT_ROWS = 600;

/** The clock and the name with which this process writes change records. */
export interface WriterStamp {
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The name of this process in change records. */
  readonly writer: string;
}

/** Writes a batch in one transaction. @throws StoreError `lost` if the guard finds no row */
export async function writeBatch(
  connection: SqliteConnection,
  batch: RowBatch,
  guard: Guard | undefined,
  options: WriterStamp,
): Promise<void> {
  // A single statement is a transaction already.
  if (!guard && !isTracked(batch) && slicesIn(batch).length === 1) return insertBatch(connection, batch, options);
  // A lock is reported after a short wait. The writer then repeats the batch and counts the failure.
  await connection.repeat('BEGIN IMMEDIATE', []);
  await committed(connection, async () => {
    if (guard && (await connection.query(guard.sql, guard.values)).length === 0) throw lost();
    await insertBatch(connection, batch, options);
  });
}

/** Inserts a batch within the transaction that runs. */
export async function insertBatch(connection: SqliteConnection, batch: RowBatch, { clock, writer }: WriterStamp): Promise<void> {
  for (const slice of slicesIn(batch)) await insertSlice(connection, slice);
  if (!isTracked(batch)) return;
  const stamp = { version: await increment(connection, 'version'), writer, at: clock() };
  for (const slice of slicesOf(changes, changeRows(batch, stamp))) await insertSlice(connection, slice);
}

const slicesIn = (batch: RowBatch): readonly Slice[] => [...batch].flatMap(([table, rows]) => slicesOf(table, rows));

/** Rows of one statement. */
interface Slice {
  readonly table: Table;
  readonly rows: readonly object[];
}

async function insertSlice(connection: SqliteConnection, { table, rows }: Slice): Promise<void> {
  const { sql, values } = insertionOf(table, rows);
  await connection.repeat(sql, values);
}

function slicesOf(table: Table, rows: readonly object[]): readonly Slice[] {
  const groups = table.onConflict === 'patch' ? [...Map.groupBy(rows, (row) => fieldsIn(table, row)).values()] : [rows];
  const most = Math.max(1, Math.floor(STATEMENT_ROWS / table.weight));
  return groups.flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / most) }, (_, i) => ({ table, rows: group.slice(i * most, (i + 1) * most) })),
  );
}

/** The fields that a patch has. Patches with the same fields fit into one statement. */
const fieldsIn = (table: Table, row: object): string =>
  table.fields.flatMap((field) => (field.of(row) === undefined ? [] : [field.column])).join();
