// What the rest of the program knows of storage, and the one way to open it. No SQL is written outside this folder.
import { StoreError } from './errors.ts';
import type { AuditFilter, RequestFilter } from './filters.ts';
import type { Purged, PurgeLimits } from './purge.ts';
import { repositories } from './repositories.ts';
import type { AccountStateRow, AttemptRow, AuditRow, CatalogRow, CredentialRow, PinRow, RequestRow, UsageRow } from './rows.ts';
import { Writer, type WriterOptions, type WriterStats } from './writer.ts';

export { StoreError, type StoreErrorCode } from './errors.ts';
export type * from './filters.ts';
export type { Purged, PurgeLimits } from './purge.ts';
export type * from './rows.ts';
export type { WriterStats as StoreStats } from './writer.ts';

/**
 * Rows in, plain objects out.
 *
 * `append` and `put` queue a row and return at once: it is on disk, and visible to the lists, within about 100 ms, and that much is
 * what a killed process loses. While the disk fails, rows wait and are tried again; past the queue's bound log rows (requests,
 * attempts) are dropped and counted, and no others ever are. Methods that return a promise of nothing resolve once the row is on disk.
 */
export interface Store {
  readonly requests: {
    /** With its attempts in order. One that says no more than the request itself is not written: `attempts.of` makes it up again. */
    append(row: RequestRow, attempts?: readonly AttemptRow[]): void;
    /** Newest first. */
    list(filter: RequestFilter): Promise<readonly RequestRow[]>;
  };
  readonly attempts: {
    /** Those of one request, in order. */
    of(request: RequestRow): Promise<readonly AttemptRow[]>;
  };
  readonly catalog: {
    /** Replaces what is known of the account. */
    put(row: CatalogRow): void;
    load(): Promise<readonly CatalogRow[]>;
  };
  readonly accounts: {
    put(row: AccountStateRow): void;
    load(): Promise<readonly AccountStateRow[]>;
  };
  readonly pins: {
    put(row: PinRow): void;
    /** Those that have not expired, the longest-lived first, at most `limit`. */
    load(limit: number): Promise<readonly PinRow[]>;
    /** For what is not in memory; undefined when unknown or expired. */
    find(hash: string): Promise<PinRow | undefined>;
  };
  readonly credentials: {
    /** Durable once it resolves: a refreshed credential must not be used before. */
    save(row: CredentialRow): Promise<void>;
    /** As it stands now: another process may have refreshed it. */
    find(account: string): Promise<CredentialRow | undefined>;
    load(): Promise<readonly CredentialRow[]>;
  };
  readonly usage: {
    /** Adds to what the key has of that day; never dropped while the store is open. */
    add(row: UsageRow): void;
    /** Of this day and later ones; Unix milliseconds. */
    load(since: number): Promise<readonly UsageRow[]>;
  };
  readonly audit: {
    record(row: Omit<AuditRow, 'id'>): Promise<void>;
    /** Newest first. */
    list(filter: AuditFilter): Promise<readonly AuditRow[]>;
  };
  purge(limits: PurgeLimits): Promise<Purged>;
  stats(): WriterStats;
  /** Writes what is queued now; false when the deadline (5 s) came first. */
  flush(deadlineMs?: number): Promise<boolean>;
  /** Writes what is queued, gives up on the rest at the deadline (5 s), and lets go of the database. */
  close(deadlineMs?: number): Promise<void>;
}

export interface StoreOptions extends Partial<WriterOptions> {
  /** Unix milliseconds. */
  readonly clock: () => number;
}

/** 50,000 rows are ten seconds of 5,000 turns a second, and some 30 MB. */
const defaults = { queueRows: 50_000, batchRows: 1_000, flushMs: 100, retryMs: [50, 2_000] } as const;

/**
 * Opens the store that a `store:` setting names: `sqlite:PATH`, or `sqlite::memory:` for tests.
 * @throws StoreError `bad_url`, `not_writable`, `corrupt`, `too_new` or `locked`, with a message for the operator.
 */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const [, scheme, place] = /^([a-z]+):(.+)$/s.exec(url) ?? [];
  if (scheme !== 'sqlite' || !place) throw new StoreError('bad_url', 'store: must be sqlite:PATH');
  const { openSqlite } = await import('./sqlite/sqlite.ts');
  const driver = await openSqlite(place, options.clock);
  const writer = new Writer(driver.write, { ...defaults, ...options });
  return repositories(driver, writer, options.clock);
}
