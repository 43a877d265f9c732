// What an engine's adapter implements for the store, in SQL that both SQLite and PostgreSQL accept.
import { StoreError } from './errors.ts';
import type { LimitBounds, LimitedTurn, Taken } from './schema/limit-rows.ts';
import type { Table } from './schema/tables.ts';
import type { LeaseVerbs } from './verbs/lease-verbs.ts';

export type Value = string | number | null;
export type DatabaseRecord = Readonly<Record<string, unknown>>;

/** Runs SQL. Values are `$1`, `$2`, … in the order of their first use, each used once. Failures are StoreErrors. */
export interface SqlSession {
  /** Runs statements without values, separated by semicolons. */
  script(sql: string): Promise<void>;
  query(sql: string, values: readonly Value[]): Promise<readonly DatabaseRecord[]>;
  /** Runs one statement that writes. Resolves with the number of rows that it changed. */
  run(sql: string, values: readonly Value[]): Promise<number>;
}

/** Rows by table. In a table that replaces, adds or patches, each key occurs at most once. */
export type RowBatch = ReadonlyMap<Table, readonly object[]>;

/** A query whose row permits a write. The row stays locked until the write is finished. */
export interface Guard {
  readonly sql: string;
  readonly values: readonly Value[];
}

export interface Transaction extends Omit<SqlSession, 'script'> {
  /** Locks rows of a table by writing them, in the order of their keys. */
  lock(table: Table, rows: readonly object[]): Promise<void>;
}

export interface Update<Result> {
  readonly result: Result;
  /** Written at the end. Rows of tracked tables are recorded in `changes`. */
  readonly batch: RowBatch;
}

export interface Driver extends Omit<SqlSession, 'script'> {
  /** Whether several nodes may use the database at once. */
  readonly shared: boolean;
  /** Unix milliseconds of the clock by which all processes on the database compare leases. */
  now(): number;
  /** Like `query`, for operators: reads of turns do not wait for it, however long it takes. */
  browse: SqlSession['query'];
  /** Like `run`, for large deletions: turns do not wait for it. */
  maintain: SqlSession['run'];
  /** The approximate number of rows, without a scan of the table. The estimate assumes that the oldest rows are deleted first. */
  roughCount(table: 'requests' | 'attempts'): Promise<number>;
  /**
   * Writes all rows or none, and records the rows of tracked tables in `changes`; durable when it resolves. One batch at a time.
   * @throws StoreError `lost` if the guard returns no row; nothing was written then
   */
  write(batch: RowBatch, guard?: Guard): Promise<void>;
  /** Like `write` and in parallel with it, for rows that may be written twice. One such batch runs at a time. */
  writeBeside(batch: RowBatch): Promise<void>;
  /**
   * Runs statements as one transaction that no other one overlaps (in SQLite the write lock, in PostgreSQL serialisable isolation);
   * durable when it resolves. It waits up to 5 s for other processes, and up to 10 s for a PostgreSQL that cannot be reached. The work may
   * run more than once and has no other effects.
   */
  transaction<Result>(work: (session: SqlSession) => Promise<Result>): Promise<Result>;
  /**
   * A transaction whose decision depends only on rows that it locks by writing them, or that it writes at its end. On PostgreSQL other
   * transactions may overlap it. What the work returns is written and committed at once, so that its locks never wait for this process. The
   * work may run more than once.
   */
  update<Result>(work: (transaction: Transaction) => Promise<Update<Result>>): Promise<Result>;
  /** See `LimitVerbs.take`. */
  takeLimits(turn: LimitedTurn, bounds: LimitBounds): Promise<Taken>;
  /** Leases that need fewer round trips than `transaction`. */
  readonly leases?: LeaseVerbs;
  /**
   * Calls `wake` soon after another process recorded changes, and whenever a notification may have been missed. Called once for a driver.
   */
  listen?(wake: () => void): void;
  /** Present for a database that several nodes may use. */
  stats?(): DatabaseStats;
  /** Whether another gateway has the database. Absent if several gateways may use it. */
  inUse?(): boolean;
  close(): Promise<void>;
}

export interface DatabaseStats {
  /** False during an outage: reads fail at once. */
  readonly reachable: boolean;
  /** Whether changes of other nodes arrive at once. If false, they are polled. */
  readonly feed_connected: boolean;
  readonly feed_losses: number;
  /** Open, in use or idle. */
  readonly connections: number;
  /** Statements that wait for a connection. */
  readonly waiting: number;
  /** How far the database's clock is ahead of this machine's; 0 if the difference is below 100 ms. */
  readonly clock_difference_ms: number;
}

export const lost = (): StoreError => new StoreError('lost', 'another process has the lease of this write');

/** Increments a counter and returns its new value. Values are in the order of commits, because the counter stays locked until then. */
export async function increment(session: Pick<SqlSession, 'query'>, counter: 'version' | 'lease_token'): Promise<number> {
  const [record] = await session.query('UPDATE counters SET value = value + 1 WHERE name = $1 RETURNING value', [counter]);
  return Number(record?.value);
}
