// The change feed: asks the store at intervals what other processes wrote, and passes the keys to the caches of those tables.
import type { Change, ChangesVerbs, TrackedTable } from './changes.ts';

/** Refreshes a cache. Where it fails, the same changes are delivered again. */
export type ChangeListener = (keys: readonly Change['key'][]) => void | Promise<void>;

export interface ChangeFeedOptions {
  readonly changes: ChangesVerbs;
  /** Runs `run` once after `ms` milliseconds; the function that it returns cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
}

/** One read of one row while nothing changes; Q34 allows 10 s of polling. */
const INTERVAL_MS = 1_000;

export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #listeners: { readonly table: TrackedTable; readonly listener: ChangeListener }[] = [];
  #cursor = 0;
  #stopped = false;
  #cancel = (): void => undefined;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
  }

  /** Called with the changes of one table that other processes made, where there are any. */
  on(table: TrackedTable, listener: ChangeListener): void {
    this.#listeners.push({ table, listener });
  }

  /** Resolves when the feed covers all later writes: load the tables after that. */
  async start(): Promise<void> {
    // Without a cursor the first read returns all recorded changes.
    this.#cursor = await this.#options.changes.cursor().catch(() => 0);
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** Reads and delivers once. A failure of the store or of a listener leaves the cursor where it was. */
  async poll(): Promise<void> {
    try {
      const { cursor, changes } = await this.#options.changes.since(this.#cursor);
      for (const { table, listener } of changes.length > 0 ? this.#listeners : []) {
        const keys = changes.filter((change) => change.table === table).map(({ key }) => key);
        if (keys.length > 0) await listener(keys);
      }
      this.#cursor = cursor;
    } catch {
      // The next poll repeats it.
    }
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancel = this.#options.after(INTERVAL_MS, () => void this.poll().then(() => this.#schedule()));
  }
}
