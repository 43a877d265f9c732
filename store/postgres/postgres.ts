// The PostgreSQL engine: pools of connections for turns, for the writer and for operators; several processes share one database.
import { changeRows, isTracked } from '../changes.ts';
import { type Batch, type Driver, type Guard, lost, type Session } from '../driver.ts';
import { StoreError } from '../errors.ts';
import { migrate } from '../migrations.ts';
import { changes, type Table } from '../tables.ts';
import { type Connection, Connections } from './connections.ts';
import { insertionOf } from './insertion.ts';

export interface PostgresOptions {
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** Names this process in the change records. */
  readonly writer: string;
}

const TURNS = { most: 6, deadlineMs: 2_000 } as const;
/** One for pins, one for the others. */
const WRITER = { most: 2, deadlineMs: 5_000 } as const;
const OPERATORS = { most: 2, deadlineMs: 30_000 } as const;
/** Processes that start together wait for the one that migrates. */
const MIGRATION = { most: 1, deadlineMs: 60_000 } as const;

/** How long a transaction is repeated that others prevent. */
const CONTENTION_MS = 5_000;

/** Processes that migrate the same database exclude each other by this advisory lock. */
const MIGRATION_LOCK = 4_000_110_011;

/** Opens the database and migrates it. The URL is secret: no message repeats it. */
export async function openPostgres(url: string, options: PostgresOptions): Promise<Driver> {
  await migrated(url, options.clock);
  return driver(
    {
      turns: new Connections({ url, ...TURNS }),
      writer: new Connections({ url, ...WRITER }),
      operators: new Connections({ url, ...OPERATORS }),
    },
    options,
  );
}

async function migrated(url: string, clock: () => number): Promise<void> {
  const connections = new Connections({ url, ...MIGRATION });
  try {
    await connections.use((connection) =>
      transaction(connection, 'BEGIN', async () => {
        await connection.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
        await migrate(portable(connection), clock);
      }),
    );
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new StoreError(error.code, `store ${placeOf(url)}: ${error.message}`, { cause: error.cause });
  } finally {
    await connections.close();
  }
}

/** Host and database of a URL, without user and password. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}

/** Texts sort by their bytes, as in SQLite, whatever the database's locale is: no order and no index depends on the system's collations. */
const portable = (connection: Connection): Session => ({
  query: (sql, values) => connection.query(sql, values),
  run: (sql, values) => connection.run(sql, values),
  script: (sql) => connection.script(sql.replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"')),
});

async function transaction<Result>(connection: Connection, begin: string, act: () => Promise<Result>): Promise<Result> {
  await connection.script(begin);
  try {
    const result = await act();
    await connection.script('COMMIT');
    return result;
  } catch (error) {
    await connection.script('ROLLBACK').catch(() => {});
    throw error;
  }
}

interface Pools {
  readonly turns: Connections;
  readonly writer: Connections;
  readonly operators: Connections;
}

function driver({ turns, writer, operators }: Pools, options: PostgresOptions): Driver {
  return {
    shared: true,
    query: (sql, values) => turns.use((connection) => connection.query(sql, values)),
    run: (sql, values) => turns.use((connection) => connection.run(sql, values)),
    browse: (sql, values) => operators.use(async (connection) => (await connection.sendOnce(sql, values)).rows),
    write: (batch, guard) => writer.use((connection) => write(connection, batch, guard, options)),
    transaction: (work) =>
      whenUncontended(() =>
        turns.use((connection) => transaction(connection, 'BEGIN ISOLATION LEVEL SERIALIZABLE', () => work(connection))),
      ),
    async close() {
      await Promise.all([turns, writer, operators].map((connections) => connections.close()));
    },
  };
}

/** Repeats a transaction that the server rolled back in favour of another one. */
async function whenUncontended<Result>(act: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + CONTENTION_MS;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'locked') || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause * Math.random()));
    }
  }
}

const NEXT_VERSION = "UPDATE counters SET value = value + 1 WHERE name = 'version' RETURNING value";

/** All statements are sent at once: a batch takes two round trips, or three where it changes tracked tables. */
async function write(connection: Connection, batch: Batch, guard: Guard | undefined, { clock, writer }: PostgresOptions): Promise<void> {
  const slices = [...batch].flatMap(([table, rows]) => slicesOf(table, rows));
  // A single statement is a transaction already.
  if (slices.length === 1 && !isTracked(batch) && !guard) return insertAll(connection, slices);
  await transaction(connection, 'BEGIN', async () => {
    if (guard && (await connection.query(`${guard.sql} FOR UPDATE`, guard.values)).length === 0) throw lost();
    await insertAll(connection, slices);
    if (!isTracked(batch)) return;
    const [record] = await connection.query(NEXT_VERSION, []);
    const stamp = { version: Number(record?.value), writer, at: clock() };
    await insertAll(connection, slicesOf(changes, changeRows(batch, stamp)));
  });
}

/** Rows of one statement. */
interface Slice {
  readonly table: Table;
  readonly rows: readonly object[];
}

async function insertAll(connection: Connection, slices: readonly Slice[]): Promise<void> {
  const insertions = slices.map(({ table, rows }) => insertionOf(table, rows));
  const results = await Promise.allSettled(insertions.map(({ sql, values }) => connection.send(sql, values)));
  // The first failure is the cause of the others.
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Patches with the same fields fit into one statement. */
function slicesOf(table: Table, rows: readonly object[]): readonly Slice[] {
  if (table.onConflict !== 'patch') return [{ table, rows }];
  const fieldsIn = (row: object): string => table.fields.flatMap((field) => (field.of(row) === undefined ? [] : [field.column])).join();
  return [...Map.groupBy(rows, fieldsIn).values()].map((group) => ({ table, rows: group }));
}
