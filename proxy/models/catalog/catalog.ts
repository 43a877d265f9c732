// Schedules the reads of the accounts' catalogs: at the start, every 30 minutes, on reload, and for an unknown model (Q12). Failed reads
// are repeated earlier, because an account without entries serves no model.
import type { CatalogRow } from '../../../store/schema/rows.ts';
import { type Clock, withDeadline } from '../../base/time/clock.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { AccountCatalog, AccountCatalogStatus } from './account-catalog.ts';
import { AccountCatalogs } from './account-catalogs.ts';
import { CatalogRefresh, type ReadCatalog, readCatalog } from './catalog-refresh.ts';
import type { SharedReads } from './shared-reads.ts';

/** Keeps the last good entries of each account across restarts. */
export interface CatalogStore {
  load(): Promise<readonly CatalogRow[]>;
  /** Queues a row. Called only when an account's entries changed. */
  save(row: CatalogRow): void;
}

export interface CatalogOptions {
  readonly read: ReadCatalog;
  readonly store: CatalogStore;
  readonly clock: Clock;
  /** Present if there are several nodes. */
  readonly sharing?: SharedReads | undefined;
  /** Called after every read of this process, successful or not. */
  readonly observe?: (status: AccountCatalogStatus) => void;
}

const REFRESH_INTERVAL_MS = 30 * 60_000;
const DISCOVERY_INTERVAL_MS = 60_000;
/** The pause before failed reads are repeated. It doubles with each failure. */
const RETRY_MS = 60_000;
/** The age up to which entries that another node read are not read again at the start or at the interval. */
const START_AGE_MS = 60_000;
const SCHEDULED_AGE_MS = REFRESH_INTERVAL_MS / 2;
/** The longest wait for a refresh: that of readiness, and that of a turn with an unknown model. */
const MAX_WAIT_MS = 10_000;

export class Catalog {
  /** The current entries; `start` and `reload` set the accounts. */
  readonly accounts = new AccountCatalogs();
  readonly #options: CatalogOptions;
  #refresh: CatalogRefresh | undefined;
  #discoveredAt = Number.NEGATIVE_INFINITY;
  #cancelNext: () => void = () => undefined;
  #retry: CatalogRefresh | undefined;
  #cancelRetry: () => void = () => undefined;
  readonly #discoveries = new Set<() => void>();
  readonly #ready = Promise.withResolvers<void>();
  #isReady = false;

  constructor(options: CatalogOptions) {
    this.#options = options;
  }

  /** Whether the first refresh has ended or taken 10 s. Stays true. */
  get ready(): boolean {
    return this.#isReady;
  }

  /** Resolves when `ready` becomes true. */
  get whenReady(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves when the stored entries are loaded and the first refresh has begun. Then lists can be served. */
  start(accounts: readonly AccountConfig[]): Promise<void> {
    this.accounts.configure(accounts);
    const restored = this.#restore();
    const refreshed = restored.then(() => this.#whenIdle());
    void withDeadline(refreshed, this.#options.clock, MAX_WAIT_MS).then(() => {
      this.#isReady = true;
      this.#ready.resolve();
    });
    return restored;
  }

  /** Applies the accounts of a new configuration and reads them all. Resolves when they have been read. */
  reload(accounts: readonly AccountConfig[]): Promise<void> {
    this.accounts.configure(accounts);
    return this.#beginRefresh(0).done;
  }

  /** Reads the list of one account after a new login. Resolves when it has been read; at once if it is not read. */
  readNow(account: string): Promise<void> {
    const one = this.accounts.get(account);
    return one?.visible ? this.#read([one], 0).done : Promise.resolve();
  }

  /** Takes over what another node has read from this account. */
  async refresh(account: string): Promise<void> {
    const row = this.accounts.get(account) && (await this.#options.sharing?.find(account));
    if (row) this.accounts.adopt(row);
    this.#checkDiscoveries();
  }

  /**
   * Reads the accounts for a model that is unknown in a Pool. All callers during a refresh share it.
   * @returns undefined if nothing is read, because the last such read has ended and began less than a minute ago. Otherwise a promise that
   * resolves when `isKnown` returns true, when the refresh ends, or after 10 s
   */
  discover(isKnown: () => boolean): Promise<void> | undefined {
    const { clock } = this.#options;
    if (!this.#refresh) {
      const now = clock.now();
      if (now - this.#discoveredAt < DISCOVERY_INTERVAL_MS) return undefined;
      this.#discoveredAt = now;
      this.#beginRefresh(0);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => {
      if (!this.#refresh || isKnown()) resolve();
    };
    this.#discoveries.add(check);
    return withDeadline(promise, clock, MAX_WAIT_MS).then(() => {
      this.#discoveries.delete(check);
    });
  }

  /** Ends all timers and reads. Pending discoveries resolve. */
  stop(): void {
    this.#cancelNext();
    this.#endRetries();
    this.#refresh?.cancel();
    this.#refresh = undefined;
    this.#checkDiscoveries();
  }

  /** Restores stored entries. A store that cannot be read does not prevent the start, because the first refresh reads the entries. */
  async #restore(): Promise<void> {
    for (const row of await this.#options.store.load().catch(() => [])) this.accounts.restore(row);
    if (!this.#refresh) this.#beginRefresh(START_AGE_MS);
  }

  /** @param maxAgeMs the age up to which entries that another node read are used, and not read again */
  #beginRefresh(maxAgeMs: number): CatalogRefresh {
    const { clock } = this.#options;
    this.#refresh?.cancel();
    this.#endRetries();
    const refresh = this.#read(this.accounts.toRead(), maxAgeMs);
    this.#refresh = refresh;
    this.#cancelNext();
    this.#cancelNext = clock.after(REFRESH_INTERVAL_MS, () => void this.#beginRefresh(SCHEDULED_AGE_MS));
    void refresh.done.then(() => {
      if (this.#refresh === refresh) this.#refresh = undefined;
      this.#checkDiscoveries();
      if (!refresh.isCancelled) this.#retryLater(RETRY_MS);
    });
    return refresh;
  }

  /** @param maxAgeMs the age up to which entries that another node read are used, and not read again */
  #read(accounts: readonly AccountCatalog[], maxAgeMs: number): CatalogRefresh {
    const since = this.#options.clock.now() - maxAgeMs;
    return new CatalogRefresh(accounts, (account, of) => this.#readAccount(account, of, since));
  }

  /** Repeats failed reads until all have succeeded, or until the next refresh. Discoveries do not wait for them. */
  #retryLater(ms: number): void {
    if (this.accounts.failed().length === 0) return;
    this.#cancelRetry = this.#options.clock.after(ms, () => {
      const retry = this.#read(this.accounts.failed(), ms);
      this.#retry = retry;
      void retry.done.then(() => {
        if (!retry.isCancelled) this.#retryLater(Math.min(ms * 2, REFRESH_INTERVAL_MS));
      });
    });
  }

  #endRetries(): void {
    this.#cancelRetry();
    this.#retry?.cancel();
  }

  /** Resolves when no refresh is running. If a reload cancelled one, the reload's refresh is awaited. */
  async #whenIdle(): Promise<void> {
    while (this.#refresh) await this.#refresh.done;
  }

  async #readAccount(account: AccountCatalog, refresh: CatalogRefresh, since: number): Promise<void> {
    const { sharing, store } = this.#options;
    if (!sharing) {
      const row = await this.#readHere(account, refresh, 'changed');
      if (row) store.save(row);
      return;
    }
    const adopt = (row: CatalogRow | undefined): boolean => {
      if (row && !refresh.isCancelled) this.accounts.adopt(row);
      this.#checkDiscoveries();
      return refresh.isCancelled || account.isReadSince(since);
    };
    const ended = await sharing.run({ account: account.id, adopt, read: () => this.#readHere(account, refresh, 'any') });
    if (ended === 'late' && !refresh.isCancelled) account.fail('timeout', undefined);
  }

  /** @returns the row of a successful read; undefined with `wanted: 'changed'` if the entries are the same */
  async #readHere(account: AccountCatalog, refresh: CatalogRefresh, wanted: 'changed' | 'any'): Promise<CatalogRow | undefined> {
    const { clock, read, observe } = this.#options;
    // The time before the read: if this process is then paused, a read of another node is newer.
    const at = clock.now();
    const result = await readCatalog(account.id, read, clock);
    if (refresh.isCancelled) return undefined;
    const changed = this.accounts.apply(account, result, at);
    observe?.(account.status());
    this.#checkDiscoveries();
    return 'failure' in result || (wanted === 'changed' && !changed) ? undefined : this.accounts.rowOf(account, result, at);
  }

  #checkDiscoveries(): void {
    for (const check of [...this.#discoveries]) check();
  }
}
