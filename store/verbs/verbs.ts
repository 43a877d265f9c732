// The store as the rest of the program sees it: the verbs that every engine has.

import type { DatabaseStats } from '../driver.ts';
import type { CheckValueVerbs } from '../schema/check-values.ts';
import type { AuditFilter, FileFilter, HourFilter, RequestFilter, UsageFilter } from '../schema/filters.ts';
import type { AttemptRow, LoggedRequest, RequestRow } from '../schema/logged-rows.ts';
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
  UsageKey,
  UsageRow,
} from '../schema/rows.ts';
import type { WriterStats } from '../writing/writer.ts';
import type { ChangesVerbs } from './changes.ts';
import type { ExchangeVerbs } from './exchanges.ts';
import type { Lease, LeaseVerbs } from './lease-verbs.ts';
import type { LimitVerbs } from './limits.ts';
import type { NodeVerbs } from './nodes.ts';
import type { Purged, PurgeLimits } from './purge.ts';
import type { FoundRequests, RequestOutcome } from './request-search.ts';
import type { SessionOwnerVerbs } from './session-owners.ts';
import type { SlotVerbs } from './slots.ts';
import type { HourTotal } from './sums/hour-groups.ts';
import type { UsageTotal } from './sums/usage-groups.ts';

/**
 * Rows in, plain objects out.
 *
 * `append`, `put`, `patch` and `add` queue a row and return at once: it is on disk, and visible to readers, within about 100 ms, and
 * that much is what a killed process loses. While the disk fails, rows wait and are tried again; past the queue's bound log rows
 * (requests, attempts) and pins are dropped and counted, and no others ever are. Methods that return a promise of nothing resolve once the row
 * is on disk.
 */
export interface Store {
  /** Whether several nodes may use the database at once: true for PostgreSQL. */
  readonly shared: boolean;
  readonly requests: {
    /** With its attempts in order, and its part of the sums of its hour. An attempt that can be derived from its request is not written; `attempts.of` derives it. */
    append(row: RequestRow, attempts?: readonly AttemptRow[]): void;
    /** Newest first, however long it takes. */
    list(filter: RequestFilter): Promise<readonly RequestRow[]>;
    /** Like `list`, as far as it comes in this time. */
    search(filter: RequestFilter, timeMs: number): Promise<FoundRequests>;
    /** How the newest ended, for summaries. */
    outcomes(filter: Pick<RequestFilter, 'limit' | 'pools' | 'since'>): Promise<readonly RequestOutcome[]>;
  };
  readonly attempts: {
    /** The attempts of one request, in order. */
    of(request: RequestRow): Promise<readonly AttemptRow[]>;
  };
  readonly catalog: {
    /** Replaces what is known of the account. */
    put(row: CatalogRow): void;
    /** The same under a lease; durable once it resolves. @returns false if the lease was lost: nothing was written then */
    putUnder(lease: Lease, row: CatalogRow): Promise<boolean>;
    load(): Promise<readonly CatalogRow[]>;
    /** The current row: another process may have read the account's catalog. */
    find(account: string): Promise<CatalogRow | undefined>;
  };
  readonly accounts: {
    /**
     * Replaces the fields that the patch has and leaves the others: writers of different fields of one row do not erase each other's,
     * in one process or in several. A row that does not exist begins as an active account without cooldown and windows.
     */
    patch(patch: AccountStatePatch): void;
    /** A patch that is written without delay: other processes wait for it. */
    patchNow(patch: AccountStatePatch): void;
    /** A patch under a lease, written after earlier patches; durable once it resolves. @returns false if the lease was lost: nothing was written then */
    patchUnder(lease: Lease, patch: AccountStatePatch): Promise<boolean>;
    load(): Promise<readonly AccountStateRow[]>;
    /** The current rows, the patches of this process that are queued by now included. Empty model: the account as a whole. */
    find(keys: readonly AccountStateKey[]): Promise<readonly AccountStateRow[]>;
  };
  readonly pins: {
    /** If too many rows wait, pins are dropped and counted, soft ones first. */
    put(row: NewPin): void;
    /** Pins that are written without delay. */
    putNow(rows: readonly NewPin[]): void;
    /** Durable once it resolves, and all earlier ones too. @throws StoreError `full` if too many rows wait */
    save(row: NewPin): Promise<void>;
    /** Saves a pin of a value that other processes may have at another account: they are notified. */
    move(row: NewPin): Promise<void>;
    /** The pins that have not expired, latest expiry first, at most `limit`. */
    load(limit: number): Promise<readonly PinRow[]>;
    /** Undefined when unknown or expired. */
    find(hash: string): Promise<PinRow | undefined>;
  };
  readonly credentials: {
    /** Durable once it resolves: a refreshed credential must not be used before. */
    save(row: NewCredentialRow): Promise<void>;
    /** The same under a lease. @returns false if the lease was lost: nothing was written then */
    saveUnder(lease: Lease, row: NewCredentialRow): Promise<boolean>;
    /** The current row: another process may have refreshed the credential. */
    find(account: string): Promise<CredentialRow | undefined>;
    load(): Promise<readonly CredentialRow[]>;
    readonly exchange: ExchangeVerbs;
    /** Remembers that a login was imported. */
    recordImport(row: CredentialImportRow): Promise<void>;
    wasImported(account: string, imported: string): Promise<boolean>;
    /** The accounts that this login was imported for, the first one first. */
    importsOf(imported: string): Promise<readonly CredentialImportRow[]>;
  };
  readonly files: {
    /** Replaces what is known of the file. Durable once it resolves: another process may get the next request that names it. */
    save(row: FileRow): Promise<void>;
    /** Undefined when unknown or expired. */
    find(pool: string, id: string): Promise<FileRow | undefined>;
    /** The files that have not expired. */
    list(filter: FileFilter): Promise<readonly FileRow[]>;
  };
  readonly usage: {
    /**
     * Adds to the sums of the key on that day; never dropped while the store is open.
     * @param of the request that used it: its rows and its part of the sums of its hour are written in the same transaction, so that a
     * killed process keeps all or nothing
     */
    add(row: UsageRow, of?: LoggedRequest): void;
    /** The rows of this day and later ones; Unix milliseconds. */
    load(since: number): Promise<readonly UsageRow[]>;
    /**
     * Reads the sums of these keys while nothing is written, adds what is queued by then, and passes them on at once: what all
     * processes have added, and nothing of it twice.
     */
    read(keys: readonly UsageKey[], take: (rows: readonly UsageRow[]) => void): Promise<void>;
    /** Sums by key, Pool or day: the newest day first, then by key and Pool. */
    sums(filter: UsageFilter): Promise<readonly UsageTotal[]>;
    /** Sums by Pool, account, model, hour or day: the newest first. */
    hours(filter: HourFilter): Promise<readonly HourTotal[]>;
  };
  readonly audit: {
    record(row: Omit<AuditRow, 'id'>): Promise<void>;
    /** Newest first. */
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
  /** Deletes the oldest rows of the request log that do not fit into this size, indexes included. @returns how many requests */
  trimLog(bytes: number): Promise<number>;
  stats(): WriterStats;
  /** Undefined for a store of one node. */
  database(): DatabaseStats | undefined;
  /** Whether another gateway has the database, if that is one gateway's: SQLite. */
  inUse(): boolean;
  /** Writes what is queued now; false when the deadline (5 s) came first. */
  flush(deadlineMs?: number): Promise<boolean>;
  /** Writes what is queued, discards the rest at the deadline (5 s), and closes the database. @returns the number of rows that were lost */
  close(deadlineMs?: number): Promise<number>;
}
