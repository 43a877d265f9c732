// When the accounts' catalogs are read: at the start, every thirty minutes, on reload, and for an unknown model (Q12).
import type { CatalogRow } from '../../store/rows.ts';
import type { Clock } from '../clock.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { AccountCatalog, AccountCatalogStatus } from './account-catalog.ts';
import { AccountCatalogs } from './account-catalogs.ts';
import { type ReadCatalog, type ReadResult, Round } from './catalog-round.ts';

/** Where the last good entries of each account outlive the process. */
export interface CatalogStore {
  load(): Promise<readonly CatalogRow[]>;
  /** Queues; called only when an account's entries changed. */
  save(row: CatalogRow): void;
}

export interface CatalogOptions {
  readonly read: ReadCatalog;
  readonly store: CatalogStore;
  readonly clock: Clock;
  /** Told after every read, good or not, for the log and the metrics. */
  readonly observe?: (status: AccountCatalogStatus) => void;
}

const EVERY_MS = 30 * 60_000;
const DISCOVERY_MS = 60_000;
/** The longest that readiness, or a turn for an unknown model, waits for a round. */
const WAIT_MS = 10_000;

export class Catalog {
  /** What is known now; `start` and `reload` say of which accounts. */
  readonly accounts = new AccountCatalogs();
  readonly #options: CatalogOptions;
  #running: Round | undefined;
  #discoveredAt = Number.NEGATIVE_INFINITY;
  #cancelNext: () => void = () => undefined;
  readonly #waiting = new Set<() => void>();
  readonly #ready = Promise.withResolvers<void>();
  #isReady = false;

  constructor(options: CatalogOptions) {
    this.#options = options;
  }

  /** The first round is over, or has taken 10 s: from then on it stays true. */
  get ready(): boolean {
    return this.#isReady;
  }

  /** Resolves when `ready` turns true. */
  get whenReady(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves once the stored entries are here, with the first round under way: the lists can be shown from then on. */
  async start(accounts: readonly AccountConfig[]): Promise<void> {
    const { clock, store } = this.#options;
    const cancelLate = clock.after(WAIT_MS, () => this.#becomeReady());
    this.accounts.configure(accounts);
    // Without the stored entries the first round alone decides: no reason not to start.
    for (const row of await store.load().catch(() => [])) this.accounts.restore(row);
    if (!this.#running) this.#begin();
    void this.#quiet().then(() => {
      cancelLate();
      this.#becomeReady();
    });
  }

  /** Takes the accounts of a new configuration and reads them all; resolves when they have been read. */
  reload(accounts: readonly AccountConfig[]): Promise<void> {
    this.accounts.configure(accounts);
    return this.#begin().done;
  }

  /**
   * A turn asked for a model that its Pool does not know. Undefined where nothing will be read for it: the last such read began less
   * than a minute ago and is over. Else resolves as soon as `known` says yes, at the latest when the round ends or after 10 s. All
   * who ask during a round share it.
   */
  discover(known: () => boolean): Promise<void> | undefined {
    const { clock } = this.#options;
    if (!this.#running) {
      const now = clock.now();
      if (now - this.#discoveredAt < DISCOVERY_MS) return undefined;
      this.#discoveredAt = now;
      this.#begin();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const finish = (): void => {
      cancel();
      this.#waiting.delete(heard);
      resolve();
    };
    const heard = (): void => {
      if (!this.#running || known()) finish();
    };
    const cancel = clock.after(WAIT_MS, finish);
    this.#waiting.add(heard);
    return promise;
  }

  /** No timer and no further read from here on; whoever waits is answered with what is known. */
  stop(): void {
    this.#cancelNext();
    this.#running?.abandon();
    this.#running = undefined;
    this.#wake();
  }

  #begin(): Round {
    const { read, clock } = this.#options;
    this.#running?.abandon();
    const round = new Round(this.accounts.visible(), read, clock, (account, result) => this.#hear(account, result));
    this.#running = round;
    this.#cancelNext();
    this.#cancelNext = clock.after(EVERY_MS, () => void this.#begin());
    void round.done.then(() => {
      if (this.#running === round) this.#running = undefined;
      this.#wake();
    });
    return round;
  }

  /** No round is under way: one that a reload abandoned hands over to the reload's. */
  async #quiet(): Promise<void> {
    while (this.#running) await this.#running.done;
  }

  #hear(account: AccountCatalog, result: ReadResult): void {
    const { clock, store, observe } = this.#options;
    const row = this.accounts.take(account, result, clock.now());
    if (row) store.save(row);
    observe?.(account.status());
    this.#wake();
  }

  #wake(): void {
    for (const heard of [...this.#waiting]) heard();
  }

  #becomeReady(): void {
    this.#isReady = true;
    this.#ready.resolve();
  }
}
