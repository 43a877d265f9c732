// The change feed: asks the store what other processes wrote, at intervals and when notified, and passes the keys of the changed rows to
// the caches of their tables.
import type { Change, ChangesVerbs, TrackedTable } from './verbs/changes.ts';

/** Refreshes a cache. If it fails, the same changes are delivered again, only to this listener. */
export type ChangeListener = (keys: readonly Change['key'][]) => void | Promise<void>;

export interface ChangeFeedOptions {
  readonly changes: ChangesVerbs;
  /** Runs `run` once after `ms` milliseconds; the function that it returns cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
}

/** One read of one row while nothing changes. After a failure the next read follows after the same interval. */
const INTERVAL_MS = 1_000;
/** Of a store that notifies: for what was missed, and while its feed is down (Q34). */
const SAFETY_INTERVAL_MS = 10_000;

const NOTHING = (): void => undefined;

interface Listening {
  readonly table: TrackedTable;
  readonly listener: ChangeListener;
  /** Keys of deliveries that failed, by their text: no more of them than the table has rows. */
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

  /** Called with the changes of one table that other processes made, if there are any. */
  on(table: TrackedTable, listener: ChangeListener): void {
    this.#listeners.push({ table, listener, undelivered: new Map() });
  }

  /** Resolves when the feed covers all later writes: load the tables after that. */
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

  /** Reads and delivers once. @returns false if the store or a listener failed */
  async poll(): Promise<boolean> {
    const read = await this.#options.changes.since(this.#cursor).catch(() => undefined);
    if (!read) return false;
    let succeeded = true;
    // One after another: a listener builds on what those before it refreshed.
    for (const listening of this.#listeners) succeeded = (await deliver(listening, read.changes)) && succeeded;
    this.#cursor = read.cursor;
    return succeeded;
  }

  /** Changes that are written during a poll may not be in its answer: another poll follows. */
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

/** If one listener fails, the others still get the changes. */
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
