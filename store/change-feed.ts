// The change feed: asks the store what other processes wrote, at intervals and when notified, and passes the keys of the changed rows to
// the caches of their tables.
import type { Change, ChangesVerbs, TrackedTable } from './verbs/changes.ts';

/** Refreshes a cache. If it fails, the same changes are delivered to this listener again, and not to the others. */
export type ChangeListener = (keys: readonly Change['key'][]) => void | Promise<void>;

export interface ChangeFeedOptions {
  readonly changes: ChangesVerbs;
  /** Runs `run` once after `ms` milliseconds; the function that it returns cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
}

/**
 * How often changes are read from a store that does not notify. A read without changes reads one row. A read that failed is tried again
 * after the same interval.
 */
const INTERVAL_MS = 1_000;
/**
 * How often changes are read from a store that notifies: this finds missed notifications, and replaces them while the feed is down (Q34).
 */
const SAFETY_INTERVAL_MS = 10_000;

const NOTHING = (): void => undefined;

interface Listening {
  readonly table: TrackedTable;
  readonly listener: ChangeListener;
  /** Keys whose delivery failed, by their text. There are never more of them than rows in the table. */
  readonly undelivered: Map<string, Change['key']>;
}

export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #listeners: Listening[] = [];
  #cursor = 0;
  #stopped = false;
  #polling = false;
  #again = false;
  #cancel = NOTHING;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
  }

  /** Calls the listener with the changes of one table that other processes made. It is not called without changes. */
  on(table: TrackedTable, listener: ChangeListener): void {
    this.#listeners.push({ table, listener, undelivered: new Map() });
  }

  /** Resolves when the feed covers all later writes. Load the tables after that. */
  async start(): Promise<void> {
    // Without a cursor the first read returns all recorded changes.
    const { changes } = this.#options;
    this.#cursor = await changes.cursor().catch(() => 0);
    this.#schedule(changes.listen ? SAFETY_INTERVAL_MS : INTERVAL_MS);
    changes.listen?.(() => void this.#wake());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** Reads and delivers all changes. @returns false if the store or a listener failed */
  async poll(): Promise<boolean> {
    let succeeded = true;
    for (;;) {
      const read = await this.#options.changes.since(this.#cursor).catch(() => undefined);
      if (!read) return false;
      // In order, because a listener builds on what the earlier ones refreshed.
      for (const listening of this.#listeners) succeeded = (await deliver(listening, read.changes)) && succeeded;
      this.#cursor = read.cursor;
      if (!read.hasMore || this.#stopped) return succeeded;
    }
  }

  /** Polls again if a change was written during a poll, because that poll may have missed it. */
  async #wake(): Promise<void> {
    this.#again = true;
    if (this.#polling) return;
    this.#polling = true;
    this.#cancel();
    let succeeded = true;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      succeeded = await this.poll();
    }
    this.#polling = false;
    const { changes } = this.#options;
    this.#schedule(succeeded && changes.listen ? SAFETY_INTERVAL_MS : INTERVAL_MS);
  }

  #schedule(ms: number): void {
    if (this.#stopped) return;
    this.#cancel = this.#options.after(ms, () => {
      this.#cancel = NOTHING;
      void this.#wake();
    });
  }
}

/** Delivers changes to one listener. If it fails, the other listeners still get them. */
async function deliver({ table, listener, undelivered }: Listening, changes: readonly Change[]): Promise<boolean> {
  for (const { table: changed, key } of changes) if (changed === table) undelivered.set(JSON.stringify(key), key);
  if (undelivered.size === 0) return true;
  const keys = [...undelivered.values()];
  try {
    await listener(keys);
  } catch {
    return false;
  }
  undelivered.clear();
  return true;
}
