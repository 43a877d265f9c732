// Opens the store. No SQL is written outside this folder.
import { randomUUID } from 'node:crypto';
import type { Driver } from './driver.ts';
import { isPostgres, sqlitePath } from './engine.ts';
import { StoreError, type StoreErrorCode } from './errors.ts';
import type { PostgresOptions } from './postgres/postgres.ts';
import type { SqliteOptions } from './sqlite/sqlite.ts';
import { repositories } from './verbs/repositories.ts';
import type { Store } from './verbs/verbs.ts';
import type { Notice } from './writing/notice.ts';
import { Writer, type WriterOptions } from './writing/writer.ts';

export type { DatabaseStats } from './driver.ts';
export { StoreError, type StoreErrorCode } from './errors.ts';
export type { CheckValueVerbs } from './schema/check-values.ts';
export type * from './schema/filters.ts';
export type { LimitBounds, LimitedTurn, Settlement, StoredUse, Taken } from './schema/limit-rows.ts';
export type { AttemptRow, LoggedRequest, RequestRow, Why } from './schema/logged-rows.ts';
export type * from './schema/rows.ts';
export type { Change, Changes, ChangesVerbs, TrackedTable } from './verbs/changes.ts';
export type { Lease, LeaseVerbs } from './verbs/lease-verbs.ts';
export type { LimitVerbs } from './verbs/limits.ts';
export type { Joined, KnownNode, NewNode, NodeVerbs } from './verbs/nodes.ts';
export type { SessionClaim, SessionOwner, SessionOwnerVerbs } from './verbs/owner-verbs.ts';
export type { Purged, PurgeLimits } from './verbs/purge.ts';
export type { FoundRequests, RequestOutcome } from './verbs/request-search.ts';
export type { SlotClaim } from './verbs/slot-change.ts';
export type { SlotGrant, SlotVerbs } from './verbs/slots.ts';
export type { HourTotal } from './verbs/sums/hour-groups.ts';
export type { UsageTotal } from './verbs/sums/usage-groups.ts';
export type { Store } from './verbs/verbs.ts';
export type { WriterStats as StoreStats } from './writing/writer-stats.ts';

export interface StoreOptions extends Partial<WriterOptions> {
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The machine's own time; by default its wall clock. A gateway passes a clock that never jumps. */
  readonly machineTime?: () => number;
  /** Names this process in the change records; random by default. */
  readonly writer?: string;
  /** The most connections to PostgreSQL, at least 8; 12 by default. */
  readonly connections?: number;
  /** Called with events for the operator's log. */
  readonly notice?: Notice;
  /** Whether the process is a gateway. Only then `notice` reports that another gateway has the SQLite file. */
  readonly gateway?: boolean;
}

/** A turn has at least two rows: its usage by day, and its request. 50,000 rows are five seconds at 5,000 turns a second. */
const defaults = { queueRows: 50_000, batchRows: 1_500, flushMs: 100, gatherMs: 1_000, retryMs: [50, 2_000] } as const;

const NONE: ReadonlySet<StoreErrorCode> = new Set();
/** Failures that the writer does not report: the driver reports an outage itself, and the others are common and end with the next try. */
const OF_A_SERVER: ReadonlySet<StoreErrorCode> = new Set<StoreErrorCode>(['unreachable', 'busy', 'locked']);

/** Short, because the end of a turn waits for its pin. */
const PIN_FLUSH_MS = 5;

/**
 * Opens a store: `sqlite:PATH`, `sqlite::memory:` for tests, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.
 * @throws StoreError `bad_url`, `not_writable`, `corrupt`, `too_new`, `locked`, `unreachable`, `busy` or `refused`, with a message for the operator.
 */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const { clock, machineTime = Date.now, writer = randomUUID(), notice = () => undefined, connections = 12, gateway = false } = options;
  const driver = await openDriver(url, { clock, machineTime, writer, notice, connections, gateway });
  const given = { ...defaults, ...options, notice, unmentioned: driver.shared ? OF_A_SERVER : NONE };
  const writing = new Writer(driver.write, given);
  // A separate writer stores pins quickly, because turns end only after that. Log rows are still gathered into large batches.
  const pinWriter = driver.shared ? new Writer(driver.writeBeside, { ...given, flushMs: PIN_FLUSH_MS, notice: () => undefined }) : writing;
  return repositories({ driver, writer: writing, pinWriter, clock, writerId: writer });
}

/** Loads only the adapter of this engine, and not the library of the other one. */
async function openDriver(url: string, options: PostgresOptions & SqliteOptions): Promise<Driver> {
  const path = sqlitePath(url);
  if (path !== undefined) return (await import('./sqlite/sqlite.ts')).openSqlite(path, options);
  if (isPostgres(url)) return (await import('./postgres/postgres.ts')).openPostgres(url, options);
  throw new StoreError('bad_url', 'store: must be sqlite:PATH or the URL of a PostgreSQL database');
}
