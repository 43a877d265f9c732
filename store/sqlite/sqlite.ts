// The embedded adapter: one file in WAL mode, one connection that writes and one that reads.
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Batch, Driver } from '../driver.ts';
import { StoreError } from '../errors.ts';
import { migrate } from '../migrations.ts';
import type { Table } from '../tables.ts';
import { Connection } from './connection.ts';
import { insertionOf } from './insertion.ts';

const MEMORY = ':memory:';

/** How long a statement waits inside SQLite for another process. It holds one of the few threads meanwhile; the writer tries again. */
const BUSY_MS = 250;

/** How long opening waits for another process, such as one that migrates. */
const PATIENCE_MS = 5_000;

/** Opens the database, makes it where it is missing, and brings it up to date. */
export async function openSqlite(path: string, clock: () => number): Promise<Driver> {
  if (path !== MEMORY) await touch(path);
  const open: Connection[] = [];
  try {
    const connect = async (): Promise<Connection> => {
      const connection = await Connection.open(path);
      open.push(connection);
      await configure(connection, path);
      return connection;
    };
    const writing = await connect();
    await patiently(() => inTransaction(writing, () => migrate(writing, clock)));
    const reading = path === MEMORY ? writing : await connect();
    return driver(writing, reading);
  } catch (error) {
    await Promise.allSettled(open.map((connection) => connection.close()));
    if (!(error instanceof StoreError)) throw error;
    throw new StoreError(error.code, `store ${path}: ${error.message}`, { cause: error.cause });
  }
}

/** Makes sure that the file is there and ours to write; a fresh one is nobody else's to read. SQLite's side files follow its mode. */
async function touch(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await (await open(path, 'a', 0o600)).close();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new StoreError('not_writable', `store ${path}: cannot be written (${code})`, { cause: error });
  }
}

/** SQLite answers a pragma that it did not follow with the old value and no error, so every answer is checked. */
async function configure(connection: Connection, path: string): Promise<void> {
  const pragma = async (name: string, value: string | number, answer: string | number = value): Promise<void> => {
    await connection.query(`PRAGMA ${name} = ${value}`, []);
    const [row] = await connection.query(`PRAGMA ${name}`, []);
    const got = Object.values(row ?? {})[0];
    if (got !== answer) throw new StoreError('failed', `SQLite: ${name} is ${String(got)} and cannot be made ${value}`);
  };
  await connection.query(`PRAGMA busy_timeout = ${BUSY_MS}`, []);
  await patiently(() => pragma('journal_mode', 'wal', path === MEMORY ? 'memory' : 'wal'));
  // FULL: a commit is on the disk when it returns, not only in the system's cache. It is paid off the main thread, once a batch.
  await pragma('synchronous', 'full', 2);
  await pragma('journal_size_limit', 64 << 20);
}

/** The change to WAL does not wait for others at all, and a transaction not for long. */
async function patiently(act: () => Promise<void>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'locked') || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function inTransaction(connection: Connection, act: () => Promise<void>): Promise<void> {
  await connection.repeat('BEGIN IMMEDIATE', []);
  try {
    await act();
    await connection.repeat('COMMIT', []);
  } catch (error) {
    // Some failures end the transaction by themselves; then there is nothing to roll back.
    await connection.repeat('ROLLBACK', []).catch(() => {});
    throw error;
  }
}

function driver(writing: Connection, reading: Connection): Driver {
  let last: Promise<unknown> = Promise.resolve();
  /** One at a time: what runs on the connection between BEGIN and COMMIT belongs to that transaction. */
  const alone = <Result>(act: () => Promise<Result>): Promise<Result> => {
    const mine = last.then(act);
    last = mine.catch(() => {});
    return mine;
  };
  return {
    query: (sql, values) => reading.query(sql, values),
    run: (sql, values) => alone(() => writing.run(sql, values)),
    write: (batch) => alone(() => write(writing, batch)),
    async close() {
      await alone(async () => {
        if (reading !== writing) await reading.close();
        await writing.close();
      });
    },
  };
}

/** Ordinary rows of one statement: their text is made on the main thread in one go, and each statement more wakes two threads. */
const STATEMENT_ROWS = 600;

async function write(connection: Connection, batch: Batch): Promise<void> {
  const slices = [...batch].flatMap(([table, rows]) => slicesOf(table, rows));
  const insert = async (): Promise<void> => {
    for (const { table, rows } of slices) {
      const { sql, values } = insertionOf(table, rows);
      await connection.repeat(sql, values);
    }
  };
  // A single statement is a transaction already.
  await (slices.length === 1 ? insert() : inTransaction(connection, insert));
}

function slicesOf(table: Table, rows: readonly object[]): { readonly table: Table; readonly rows: readonly object[] }[] {
  const most = Math.max(1, Math.floor(STATEMENT_ROWS / table.weight));
  return Array.from({ length: Math.ceil(rows.length / most) }, (_, i) => ({ table, rows: rows.slice(i * most, (i + 1) * most) }));
}
