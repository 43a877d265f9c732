// The SQLite engine: one file in WAL mode, with one connection for writing, one for the reads of turns, and one for the reads of operators.
import { open } from 'node:fs/promises';
import type { Driver } from '../driver.ts';
import { StoreError, type StoreErrorCode } from '../errors.ts';
import { codeOf, makeFolderOf, writeFaultOf } from '../folder.ts';
import { migrate } from '../schema/migrations.ts';
import { takeIn } from '../verbs/limits.ts';
import type { Notice } from '../writing/notice.ts';
import { DatabaseClaim } from './claim.ts';
import { insertBatch, type WriterStamp, writeBatch } from './sqlite-batches.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { inTransaction, whenUnlocked } from './sqlite-transaction.ts';

const MEMORY = ':memory:';
/**
 * Pages of the WAL after which they are copied into the database: 16 MiB instead of 4. A page that is written several times before that is
 * copied once, which saves a tenth of the processor time for each row under load.
 */
const CHECKPOINT_PAGES = 4_000;

/**
 * The most memory for pages of the connection that writes, in KiB. Rows of a thousand accounts and pins change more pages than fit into
 * SQLite's own 2 MiB, and would cost a tenth and a sixth more.
 */
const CACHE_KIB = 8_192;

/** How long a statement waits inside SQLite for another process. The wait blocks one of the few pool threads. Callers try again. */
const BUSY_MS = 250;

export interface SqliteOptions extends WriterStamp {
  readonly notice?: Notice;
  /** Whether the process is a gateway. Only then `notice` reports that another gateway has the file. */
  readonly gateway?: boolean;
}

/** Faults that an operator can correct, in words. SQLite's own message follows them. */
const MEANINGS: Readonly<Partial<Record<StoreErrorCode, string>>> = {
  corrupt: 'it is not a database, or it is damaged (`poolgate store check` gives advice); ',
  full: 'its disk is full; ',
  locked: 'another process is using it; ',
  not_writable: 'it cannot be written, or no file can be created beside it; ',
  failed: 'it cannot be read or written, or its disk is full; ',
};

/** Opens the database, creates it if it is missing, and migrates it. */
export async function openSqlite(path: string, options: SqliteOptions): Promise<Driver> {
  if (path !== MEMORY) await touch(path);
  const open: SqliteConnection[] = [];
  try {
    const connect = async (): Promise<SqliteConnection> => {
      const connection = await SqliteConnection.open(path);
      open.push(connection);
      await configure(connection, path);
      return connection;
    };
    const writing = await connect();
    await inTransaction(writing, () => migrate(writing, { clock: options.clock, apply: ({ sql = '' }) => writing.script(sql) }));
    // A statement in a transaction keeps the pages that it changes as they were. As a file they are a quarter of the threads' time for rows
    // of a thousand accounts. It is not set for the migration, which sorts whole tables.
    await setPragma(writing, 'temp_store', 'memory', 2);
    await setPragma(writing, 'cache_size', -CACHE_KIB);
    const reading = path === MEMORY ? writing : await connect();
    const { gateway = false, notice = () => undefined } = options;
    const claim = gateway && path !== MEMORY ? await DatabaseClaim.of(path, { notice }) : undefined;
    return driver({ writing, reading, browse: path === MEMORY ? undefined : connect, claim }, options);
  } catch (error) {
    await Promise.allSettled(open.map((connection) => connection.close()));
    if (!(error instanceof StoreError)) throw error;
    throw new StoreError(error.code, `store ${path}: ${MEANINGS[error.code] ?? ''}${error.message}`, { cause: error.cause });
  }
}

/** Creates the file if it is missing, readable by its owner only, and checks that it is writable. SQLite's side files get the same mode. */
async function touch(path: string): Promise<void> {
  try {
    await makeFolderOf(path);
    await (await open(path, 'a', 0o600)).close();
  } catch (error) {
    const isFull = codeOf(error) === 'ENOSPC';
    const advice = isFull ? '' : '. Set `store` to a file that this user may create and write';
    throw new StoreError(isFull ? 'full' : 'not_writable', `store ${path}: cannot be written: ${writeFaultOf(error)}${advice}`, {
      cause: error,
    });
  }
}

/** Sets the pragmas of a connection. */
async function configure(connection: SqliteConnection, path: string): Promise<void> {
  await connection.query(`PRAGMA busy_timeout = ${BUSY_MS}`, []);
  await whenUnlocked(() => setPragma(connection, 'journal_mode', 'wal', path === MEMORY ? 'memory' : 'wal'));
  // FULL: a commit is on the disk when it returns, and not only in the system's cache. This costs no time of the main thread, and happens
  // once a batch.
  await setPragma(connection, 'synchronous', 'full', 2);
  await setPragma(connection, 'journal_size_limit', 64 << 20);
  await setPragma(connection, 'wal_autocheckpoint', CHECKPOINT_PAGES);
}

/** The answer is checked, because SQLite answers a pragma that it did not apply with the old value and no error. */
async function setPragma(
  connection: SqliteConnection,
  name: string,
  value: string | number,
  answer: string | number = value,
): Promise<void> {
  await connection.query(`PRAGMA ${name} = ${value}`, []);
  const [row] = await connection.query(`PRAGMA ${name}`, []);
  const got = Object.values(row ?? {})[0];
  if (got !== answer) throw new StoreError('failed', `SQLite: ${name} is ${String(got)} and cannot be made ${value}`);
}

interface Connections {
  readonly writing: SqliteConnection;
  readonly reading: SqliteConnection;
  /** Opens a connection for operators; undefined for a database in memory, which has one connection. */
  readonly browse: (() => Promise<SqliteConnection>) | undefined;
  readonly claim: DatabaseClaim | undefined;
}

function driver({ writing, reading, browse, claim }: Connections, options: SqliteOptions): Driver {
  let browsing: Promise<SqliteConnection> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  /** Runs one action at a time, because a statement between BEGIN and COMMIT belongs to that transaction. */
  const alone = <Result>(act: () => Promise<Result>): Promise<Result> => {
    const mine = last.then(act);
    last = mine.catch(() => {});
    return mine;
  };
  const transaction: Driver['transaction'] = (work) => alone(() => inTransaction(writing, () => work(writing)));
  return {
    shared: false,
    now: options.clock,
    query: (sql, values) => reading.query(sql, values),
    async browse(sql, values) {
      if (!browse) return reading.query(sql, values);
      browsing ??= browse();
      // Lets the next query try to open it again.
      browsing.catch(() => (browsing = undefined));
      return (await browsing).query(sql, values);
    },
    run: (sql, values) => alone(() => writing.run(sql, values)),
    write: (batch, guard) => alone(() => writeBatch(writing, batch, guard, options)),
    writeBeside: (batch) => alone(() => writeBatch(writing, batch, undefined, options)),
    maintain: (sql, values) => alone(() => writing.run(sql, values)),
    async roughCount(table) {
      // Both aggregates read one end of the index. Row numbers ascend, and rows are deleted from the lower end.
      const [record] = await reading.query(
        `SELECT (SELECT max(rowid) FROM ${table}) AS last, (SELECT min(rowid) FROM ${table}) AS first`,
        [],
      );
      return record?.last == null ? 0 : Number(record.last) - Number(record.first) + 1;
    },
    transaction,
    update: (work) =>
      alone(() =>
        inTransaction(writing, async () => {
          // No row needs a lock of its own, because the transaction has the write lock.
          const { result, batch } = await work({
            query: (sql, values) => writing.query(sql, values),
            run: (sql, values) => writing.run(sql, values),
            lock: async () => undefined,
          });
          await insertBatch(writing, batch, options);
          return result;
        }),
      ),
    takeLimits: (turn, bounds) => transaction((session) => takeIn(session, options.clock(), turn, bounds)),
    inUse: () => claim?.isRefused ?? false,
    async close() {
      await alone(async () => {
        await (await browsing?.catch(() => undefined))?.close();
        if (reading !== writing) await reading.close();
        await writing.close();
        // Released last, because a gateway that still writes settlements needs the file.
        await claim?.close();
      });
    },
  };
}
