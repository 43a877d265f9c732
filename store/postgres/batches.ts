// Writes each batch once, even if it is sent again because the answer to its commit was lost.
import { randomUUID } from 'node:crypto';
import { type Guard, lost, type RowBatch } from '../driver.ts';
import { changes, type Table } from '../schema/tables.ts';
import { changeRows } from '../verbs/changes.ts';
import { CHANNEL } from './channel.ts';
import type { PostgresConnection } from './connection/postgres-connection.ts';
import type { PostgresConnections } from './connection/postgres-connections.ts';
import { insertionOf, type PostgresInsertion } from './postgres-insertion.ts';

export interface RecordOptions {
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** Names this process in the change records. */
  readonly writer: string;
}

export interface BatchesOptions extends RecordOptions {
  /** How a batch that may already be committed is sent again: `once` recognises it, `again` writes it a second time. */
  readonly repeated: 'once' | 'again';
}

/** What a transaction checks before it writes its rows. */
interface Checks {
  /** The number of the batch; undefined if it may be written twice. */
  readonly number: number | undefined;
  readonly guard: Guard | undefined;
}

/** Writes nothing if this batch or a later one is already committed. Waits for one that is being committed. */
const ONCE =
  'INSERT INTO written_batches (process, batch, at) VALUES ($1, $2, $3) ' +
  'ON CONFLICT (process) DO UPDATE SET batch = excluded.batch, at = excluded.at WHERE written_batches.batch < excluded.batch';

/** Takes the next version. This takes a lock, so that versions are in the order of commits. */
const NEXT_VERSION: PostgresInsertion = { sql: "UPDATE counters SET value = value + 1 WHERE name = 'version'", values: [] };
const CURRENT_VERSION = "(SELECT value FROM counters WHERE name = 'version')";

/** Other processes get the notification when the transaction is committed. */
const NOTIFY = `SELECT pg_notify(${CHANNEL}, $1)`;

export const COMMIT: PostgresInsertion = { sql: 'COMMIT', values: [] };

/** A process that has not written for this long will not repeat a batch. */
const REMEMBERED_MS = 8 * 86_400_000;

export class BatchWriter {
  readonly #connections: PostgresConnections;
  readonly #options: BatchesOptions;
  readonly #process = randomUUID();
  #last: RowBatch | undefined;
  #number = 0;

  constructor(connections: PostgresConnections, options: BatchesOptions) {
    this.#connections = connections;
    this.#options = options;
  }

  /** Deletes the batch numbers of processes that ended long ago. */
  async forget(): Promise<void> {
    const before = this.#options.clock() - REMEMBERED_MS;
    await this.#connections.use((connection) => connection.run('DELETE FROM written_batches WHERE at < $1', [before]));
  }

  /** Writes one batch at a time. The same batch object again repeats a write that failed. */
  write(batch: RowBatch, guard?: Guard): Promise<void> {
    if (batch !== this.#last) {
      this.#last = batch;
      this.#number++;
    }
    const number = this.#number;
    const insertions = insertionsOf(batch, this.#options);
    // Rows that a second write ignores need no number, and one statement is a transaction already.
    const once = this.#options.repeated === 'once' && [...batch.keys()].some(({ onConflict }) => onConflict !== 'keep');
    return this.#connections.use(async (connection) => {
      if (!once && !guard && insertions.length === 1) await sendAll(connection, insertions);
      else await this.#transaction(connection, insertions, { number: once ? number : undefined, guard });
    });
  }

  /** Sends every statement that locks rows of others together with the commit, so that no lock waits for this process. */
  async #transaction(connection: PostgresConnection, insertions: readonly PostgresInsertion[], { number, guard }: Checks): Promise<void> {
    const begun = connection.script('BEGIN');
    // The statements below report the failure.
    begun.catch(() => undefined);
    try {
      if (number !== undefined) {
        const [, first] = await Promise.all([begun, connection.run(ONCE, [this.#process, number, this.#options.clock()])]);
        if (first === 0) return await connection.script('ROLLBACK');
      }
      if (guard && (await connection.query(`${guard.sql} FOR UPDATE`, guard.values)).length === 0) throw lost();
      await Promise.all([begun, sendAll(connection, [...insertions, COMMIT])]);
    } catch (error) {
      await connection.script('ROLLBACK').catch(() => {});
      throw error;
    }
  }
}

/** @throws StoreError of the first statement that failed: the later ones fail because of it */
export async function sendAll(connection: PostgresConnection, statements: readonly PostgresInsertion[]): Promise<void> {
  const results = await Promise.allSettled(connection.together(() => statements.map(({ sql, values }) => connection.send(sql, values))));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/**
 * The statements that write a batch.
 * The lock of the version is taken after all untracked rows. Rows of each table are in the order of their keys, and that lock serialises
 * batches with tracked rows. Therefore no two batches deadlock.
 */
export function insertionsOf(batch: RowBatch, { clock, writer }: RecordOptions): readonly PostgresInsertion[] {
  const tables = [...batch].toSorted(([one], [other]) => (one.name < other.name ? -1 : 1));
  const rowsOf = (tracked: boolean): readonly PostgresInsertion[] =>
    tables.flatMap(([table, rows]) => (table.tracked === tracked ? slicesOf(table, rows).map((slice) => insertionOf(table, slice)) : []));
  const recorded = changeRows(batch, { version: 0, writer, at: clock() });
  if (recorded.length === 0) return rowsOf(false);
  const record = insertionOf(changes, recorded, { version: CURRENT_VERSION });
  return [...rowsOf(false), NEXT_VERSION, ...rowsOf(true), record, { sql: NOTIFY, values: [writer] }];
}

/** Groups patches with the same fields, because they fit into one statement. */
function slicesOf(table: Table, rows: readonly object[]): readonly (readonly object[])[] {
  if (table.onConflict === 'keep') return [rows];
  const sorted = rows.toSorted((one, other) => (table.identity(one) < table.identity(other) ? -1 : 1));
  if (table.onConflict !== 'patch') return [sorted];
  const fieldsIn = (row: object): string => table.fields.flatMap((field) => (field.of(row) === undefined ? [] : [field.column])).join();
  return [...Map.groupBy(sorted, fieldsIn).values()];
}
