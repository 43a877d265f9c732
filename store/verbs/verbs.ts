// The store as the rest of the program sees it: the verbs that every engine has.
import type { DatabaseStats } from '../driver.ts';
import type { CheckValueVerbs } from '../schema/check-values.ts';
import type { AuditFilter, FileFilter } from '../schema/filters.ts';
import type {
  AccountStateKey,
  AccountStatePatch,
  AccountStateRow,
  AuditRow,
  CatalogRow,
  CredentialImportRow,
  CredentialRow,
  FileRow,
  NewCredentialRow,
  NewPin,
  PinRow,
  RunningConfigRow,
} from '../schema/rows.ts';
import type { WriterStats } from '../writing/writer-stats.ts';
import type { ChangesVerbs } from './changes.ts';
import type { Lease, LeaseVerbs } from './lease-verbs.ts';
import type { LimitVerbs } from './limits.ts';
import type { LogVerbs } from './log-verbs.ts';
import type { NodeVerbs } from './nodes.ts';
import type { SessionOwnerVerbs } from './owner-verbs.ts';
import type { Purged, PurgeLimits } from './purge.ts';
import type { SlotVerbs } from './slots.ts';
import type { ExchangeVerbs } from './token-exchanges.ts';

/**
 * Rows in, plain objects out.
 * `append`, `put`, `patch` and `add` queue a row and return at once. The row is on disk, and visible to readers, within about 100 ms; a
 * killed process loses at most the rows of that time. While the disk fails, rows wait and are tried again. Past the bound of the queue, log
 * rows (requests, attempts) and pins are dropped and counted; other rows never are. Methods that return `Promise<void>` resolve once the
 * row is on disk.
 */
export interface Store extends LogVerbs {
  /** Whether several nodes may use the database at once: true for PostgreSQL. */
  readonly shared: boolean;
  readonly catalog: {
    /** Replaces the account's row. */
    put(row: CatalogRow): void;
    /** Like `put`, under a lease; durable once it resolves. @returns false if the lease was lost: nothing was written then */
    putUnder(lease: Lease, row: CatalogRow): Promise<boolean>;
    load(): Promise<readonly CatalogRow[]>;
    /** The current row: another process may have read the account's catalog. */
    find(account: string): Promise<CatalogRow | undefined>;
  };
  readonly accounts: {
    /**
     * Replaces the fields that the patch has and keeps the others. So writers of different fields of one row do not erase each other's
     * values, even in several processes. A row that does not exist begins as an active account without cooldown and windows.
     */
    patch(patch: AccountStatePatch): void;
    /** Like `patch`, but written without delay, because other processes wait for it. */
    patchNow(patch: AccountStatePatch): void;
    /**
     * Like `patch`, under a lease, and after earlier patches; durable once it resolves. @returns false if the lease was lost: nothing was
     * written then
     */
    patchUnder(lease: Lease, patch: AccountStatePatch): Promise<boolean>;
    load(): Promise<readonly AccountStateRow[]>;
    /** The current rows, including queued patches of this process. An empty model names the account as a whole. */
    find(keys: readonly AccountStateKey[]): Promise<readonly AccountStateRow[]>;
  };
  readonly pins: {
    /** Queues a pin. If too many rows wait, pins are dropped and counted, soft ones first. */
    put(row: NewPin): void;
    /** Queues pins that are written without delay. */
    putNow(rows: readonly NewPin[]): void;
    /** Writes a pin. When it resolves, this pin and all earlier ones are durable. @throws StoreError `full` if too many rows wait */
    save(row: NewPin): Promise<void>;
    /** Like `save`, for a value that other processes may have pinned to another account: they are notified. */
    move(row: NewPin): Promise<void>;
    /** At most `limit` pins that have not expired, those with the latest expiry first. */
    load(limit: number): Promise<readonly PinRow[]>;
    /** The pin; undefined if it is unknown or expired. */
    find(hash: string): Promise<PinRow | undefined>;
  };
  readonly credentials: {
    /** Replaces the credential. Durable once it resolves: a refreshed credential must not be used before. */
    save(row: NewCredentialRow): Promise<void>;
    /** Like `save`, under a lease. @returns false if the lease was lost: nothing was written then */
    saveUnder(lease: Lease, row: NewCredentialRow): Promise<boolean>;
    /** The current row: another process may have refreshed the credential. */
    find(account: string): Promise<CredentialRow | undefined>;
    load(): Promise<readonly CredentialRow[]>;
    readonly exchange: ExchangeVerbs;
    /** Remembers that a login was imported. */
    recordImport(row: CredentialImportRow): Promise<void>;
    wasImported(account: string, imported: string): Promise<boolean>;
    /** The accounts for which this login was imported, the first one first. */
    importsOf(imported: string): Promise<readonly CredentialImportRow[]>;
  };
  readonly files: {
    /** Replaces the file's row. Durable once it resolves, because another process may get the next request that names the file. */
    save(row: FileRow): Promise<void>;
    /** The file; undefined if it is unknown or expired. */
    find(pool: string, id: string): Promise<FileRow | undefined>;
    /** The files that have not expired. */
    list(filter: FileFilter): Promise<readonly FileRow[]>;
  };
  readonly audit: {
    record(row: Omit<AuditRow, 'id'>): Promise<void>;
    /** The matching rows, newest first. */
    list(filter: AuditFilter): Promise<readonly AuditRow[]>;
  };
  readonly runningConfig: {
    save(row: RunningConfigRow): Promise<void>;
    /** Undefined if no gateway of this name has started on the store. */
    find(name: string): Promise<RunningConfigRow | undefined>;
  };
  readonly changes: ChangesVerbs;
  readonly leases: LeaseVerbs;
  readonly sessionOwners: SessionOwnerVerbs;
  readonly limits: LimitVerbs;
  readonly nodes: NodeVerbs;
  readonly slots: SlotVerbs;
  readonly checkValues: CheckValueVerbs;
  purge(limits: PurgeLimits): Promise<Purged>;
  /**
   * Deletes the oldest rows of the request log that do not fit into this size, including indexes. @returns the number of deleted requests
   */
  trimLog(bytes: number): Promise<number>;
  stats(): WriterStats;
  /** Undefined for a store of one node. */
  database(): DatabaseStats | undefined;
  /** Whether another gateway has the SQLite file. Always false for a database that several gateways may use. */
  inUse(): boolean;
  /** Writes what is queued now. @returns false if the deadline (5 s) ended it */
  flush(deadlineMs?: number): Promise<boolean>;
  /** Writes what is queued, discards the rest at the deadline (5 s), and closes the database. @returns the number of lost rows */
  close(deadlineMs?: number): Promise<number>;
}
