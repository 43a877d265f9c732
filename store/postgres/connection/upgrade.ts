// Migrates a PostgreSQL database to the current schema when it is opened. Nodes that start together do it one after another.
import type { SqlSession } from '../../driver.ts';
import { StoreError, type StoreErrorCode } from '../../errors.ts';
import { type Migration, migrate } from '../../schema/migrations.ts';
import type { Notice } from '../../writing/notice.ts';
import { PostgresConnections } from './postgres-connections.ts';
import { inTransaction } from './transactions.ts';

/** The connection of a migration. It also bounds how long a node waits for another one that migrates the database. */
const MIGRATION = { most: 1, waitMs: 5_000, deadlineMs: 120_000 } as const;
const PAUSE_MS = 250;

/** An arbitrary number that other programs on the database do not lock. */
const MIGRATION_LOCK = 4_000_110_011;

/** The oldest supported server: PostgreSQL 15 (Q34). */
const OLDEST_SERVER = 150_000;

export interface PatienceOptions {
  /** How long to wait for a database that cannot be reached yet, such as one that is still starting. */
  readonly patienceMs: number;
  /** Called when the start waits for the database. */
  readonly notice: Notice;
}

export interface UpgradeOptions extends PatienceOptions {
  readonly clock: () => number;
}

/** @throws StoreError with a message for the operator; the URL in it has no password */
export async function upgrade(url: string, { clock, patienceMs, notice }: UpgradeOptions): Promise<void> {
  const connections = new PostgresConnections({ url, ...MIGRATION });
  try {
    await whenReachable({ patienceMs, notice }, () =>
      connections.use((connection) =>
        inTransaction(connection, 'BEGIN', async () => {
          await checkServer(connection);
          await connection.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
          await migrate(connection, { clock, apply: (step) => applyTo(connection, step) });
        }),
      ),
    );
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new StoreError(error.code, `store ${databasePlaceOf(url)}: ${error.message}`, { cause: error.cause });
  } finally {
    await connections.close();
  }
}

/** Failures that may end soon. */
const PASSING: ReadonlySet<StoreErrorCode> = new Set<StoreErrorCode>(['busy', 'unreachable']);

/** Acts again while the database cannot be reached, or has no connection free. @throws StoreError when the patience is over */
export async function whenReachable<Result>({ patienceMs, notice }: PatienceOptions, act: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + patienceMs;
  for (let waits = false; ; waits = true) {
    try {
      const result = await act();
      if (waits) notice('store_reachable');
      return result;
    } catch (error) {
      if (!(error instanceof StoreError && PASSING.has(error.code)) || performance.now() > end) throw error;
      if (!waits) notice('store_unreachable', { message: `${error.message}: the start waits ${patienceMs / 1_000} s for it` });
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** @throws StoreError if the server is too old */
export async function checkServer(session: Pick<SqlSession, 'query'>): Promise<void> {
  const [record] = await session.query('SELECT current_setting($1)::int AS version', ['server_version_num']);
  const version = Number(record?.version);
  if (version >= OLDEST_SERVER) return;
  throw new StoreError('refused', `the server is PostgreSQL ${Math.floor(version / 10_000)}; poolgate needs 15 or newer`);
}

/**
 * Applies a step. Texts sort by their bytes, as in SQLite, so that no order and no index depends on the collations of the server's system.
 */
export async function applyTo(session: SqlSession, { sql, postgres }: Migration): Promise<void> {
  if (sql !== undefined) await session.script(sql.replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"'));
  if (postgres !== undefined) await session.script(postgres);
}

/** Host and database of a URL, without user, password and parameters. */
export function databasePlaceOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}
