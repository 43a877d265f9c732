// Writes the batches of a queue, one at a time and in order. A batch is written when it is full, when its first row has waited long enough, or
// at once if a caller waits for a row.
import type { Guard, RowBatch } from '../driver.ts';
import type { StoreError } from '../errors.ts';
import { Retry, type RetryOptions } from './retry.ts';
import { batchOf, type Entry, type Queue, rowsByTable } from './write-queue.ts';
import type { WriterStats } from './writer-stats.ts';

export interface BatchOptions extends RetryOptions {
  /** A batch is written when it has this many rows. */
  readonly batchRows: number;
  /** A batch is also written when its first row has waited this long. */
  readonly flushMs: number;
}

export class BatchLoop {
  readonly #queue: Queue;
  readonly #retry: Retry;
  readonly #options: BatchOptions;
  #inFlight: readonly Entry[] = [];
  /** Work that runs before the next batch. */
  readonly #pauses: (() => Promise<void>)[] = [];
  /** The number of entries that callers wait for. While there are any, batches are written without delay and keep the process alive. */
  #awaited = 0;
  /** Whether the queue gets no more rows, and its rest is discarded. */
  #isEnding = false;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  readonly #counts = { written: 0, dropped: 0, rejected: 0 };

  constructor(queue: Queue, write: (batch: RowBatch, guard?: Guard) => Promise<void>, options: BatchOptions) {
    this.#queue = queue;
    this.#retry = new Retry(write, options);
    this.#options = options;
  }

  /** The statistics of the rows that were taken from the queue. Those that are in flight count as queued. */
  get stats(): WriterStats {
    return { queued: countOf(this.#inFlight), ...this.#counts, ...this.#retry.stats };
  }

  /** The last entry of the batch that is being written. */
  get last(): Entry | undefined {
    return this.#inFlight.at(-1);
  }

  /** Called when rows were queued. */
  schedule(): void {
    if (this.#working) return;
    if (this.#isDue()) this.#start();
    else if (this.#queue.length > 0) this.#timer ??= setTimeout(() => this.#start(), this.#options.flushMs).unref();
  }

  /** Writes an entry without delay. Resolves when it is on disk. */
  writeNow(entry: Entry): Promise<void> {
    entry.settled ??= Promise.withResolvers();
    if (!entry.isUrgent) {
      entry.isUrgent = true;
      // Only the first caller ends the pause between retries. If each of many callers did, there would be no pause.
      if (this.#awaited++ === 0) this.#retry.hurry();
    }
    this.#start();
    return entry.settled.promise;
  }

  /** Runs `work` while no batch is written. Rows that are queued before wait for its end. */
  between<Result>(work: () => Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#pauses.push(() => work().then(resolve, reject));
    this.#start();
    return promise;
  }

  /** Ends all further tries, and discards what is queued. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#retry.abandon();
    this.schedule();
    await this.#working;
  }

  #isDue(): boolean {
    const { length } = this.#queue;
    return length >= this.#options.batchRows || (length > 0 && (this.#awaited > 0 || this.#isEnding));
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    do {
      for (const run of this.#pauses.splice(0)) await run();
      this.#inFlight = this.#queue.take(this.#options.batchRows);
      if (this.#inFlight.length > 0) await this.#settle(this.#inFlight);
    } while (this.#isDue() || this.#pauses.length > 0);
    this.#working = undefined;
    this.schedule();
  }

  /** Writes a batch until it is settled. A batch with a bad row is halved until that row is alone. */
  async #settle(entries: readonly Entry[]): Promise<void> {
    const failure = await this.#retry.write({ batch: batchOf(entries), guard: entries[0]?.guard, isAwaited: () => this.#awaited > 0 });
    if (failure?.code === 'bad_row' && entries.length > 1) {
      const middle = entries.length >> 1;
      await this.#settle(entries.slice(0, middle));
      await this.#settle(entries.slice(middle));
      return;
    }
    const [first] = entries;
    if (failure?.code === 'bad_row' && first?.others) {
      // The rows are written separately, so that a log row that cannot be written does not prevent the usage of its turn.
      const apart = rowsByTable(first).map(([table, row]) => ({ table, row }));
      this.#inFlight = [...apart, ...this.#inFlight.slice(1)];
      for (const one of apart) await this.#settle([one]);
      this.#settled(first, failure);
      return;
    }
    this.#inFlight = this.#inFlight.slice(entries.length);
    if (failure?.code !== 'lost')
      this.#counts[failure ? (failure.code === 'bad_row' ? 'rejected' : 'dropped') : 'written'] += countOf(entries);
    for (const entry of entries) this.#settled(entry, failure);
  }

  /** Resolves the promises of callers that wait for an entry. */
  #settled({ settled, isUrgent }: Entry, failure: StoreError | undefined): void {
    if (isUrgent) this.#awaited--;
    if (failure) settled?.reject(failure);
    else settled?.resolve();
  }
}

const countOf = (entries: readonly Entry[]): number => entries.reduce((sum, { others }) => sum + 1 + (others?.length ?? 0), 0);
