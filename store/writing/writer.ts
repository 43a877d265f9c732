// Queues rows and writes them in batches, one batch at a time and in order.
import type { Guard, RowBatch } from '../driver.ts';
import { StoreError } from '../errors.ts';
import type { Table } from '../schema/tables.ts';
import { Retry, type RetryOptions, type RetryStats } from './retry.ts';
import { batchOf, type Entry, Queue, rowsByTable, type TableRow } from './write-queue.ts';

export interface WriterOptions extends RetryOptions {
  /** The most rows that wait. Past it log rows and pins are dropped and counted; all others are still queued. */
  readonly queueRows: number;
  /** A batch is written when it has this many rows. */
  readonly batchRows: number;
  /** A batch is also written when its first row has waited this long. */
  readonly flushMs: number;
  /** How long `gather` adds rows up before they are queued. */
  readonly gatherMs: number;
}

export interface WriterStats extends RetryStats {
  /** The number of rows that wait, including the batch that is being written. */
  readonly queued: number;
  readonly written: number;
  /** Lost rows: log rows past the bound, and the rows that were left at the deadline of `close` or came after it. */
  readonly dropped: number;
  /** Rows that can never be written, such as one with a bigint. */
  readonly rejected: number;
}

export class Writer {
  readonly #retry: Retry;
  readonly #options: WriterOptions;
  readonly #queue = new Queue();
  /** Sums that are not queued yet. */
  readonly #gathered = new Queue();
  #gatherTimer: NodeJS.Timeout | undefined;
  #inFlight: readonly Entry[] = [];
  /** Work that runs before the next batch. */
  readonly #pauses: (() => Promise<void>)[] = [];
  /** The number of entries that callers wait for. While there are any, batches are written without delay and keep the process alive. */
  #awaited = 0;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #closing: Promise<number> | undefined;
  readonly #counts = { written: 0, dropped: 0, rejected: 0 };

  constructor(write: (batch: RowBatch, guard?: Guard) => Promise<void>, options: WriterOptions) {
    this.#retry = new Retry(write, options);
    this.#options = options;
  }

  /** Queues a log row, or drops it if the queue is full. Never throws, never waits. */
  append<Input extends object>(table: Table<object, Input>, row: Input): void {
    if (this.#closing || this.#isFull()) {
      this.#counts.dropped++;
      return;
    }
    this.#queue.push(table, row);
    this.#schedule();
  }

  /**
   * Queues a row that may be lost. Rows of one key are merged while they wait.
   * @param share of the queue, past which the row is dropped
   */
  offer<Input extends object>(table: Table<object, Input>, row: Input, share: number): void {
    if (this.#isFull(share) && !this.#queue.isWaiting(table, row)) this.#counts.dropped++;
    else this.put(table, row);
  }

  /** Writes what is queued without delay. */
  hasten(): void {
    const { last } = this.#queue;
    if (last) this.#arrival(last).catch(() => undefined);
  }

  /**
   * Queues a row of a table that adds, which must not be lost, with log rows that are written in the same transaction. If the queue is
   * full, the log rows are dropped.
   */
  putTogether(sum: TableRow, logRows: readonly TableRow[]): void {
    if (this.#closing) this.#counts.dropped += 1 + logRows.length;
    else if (this.#isFull()) {
      this.#counts.dropped += logRows.length;
      this.put(...sum);
    } else {
      this.#queue.pushTogether(sum, logRows);
      this.#schedule();
    }
  }

  /**
   * Queues a row of a table that adds, once rows of its key have been added up for `gatherMs`. Many turns add to such a row, so that
   * a batch has none of it, or all of a second.
   */
  gather<Input extends object>(table: Table<object, Input>, row: Input): void {
    if (this.#closing) {
      this.#counts.dropped++;
      return;
    }
    this.#gathered.place(table, row);
    this.#gatherTimer ??= setTimeout(() => this.#queueGathered(), this.#options.gatherMs).unref();
  }

  /** Queues a row that must not be lost. Rows of one key are merged while they wait. */
  put<Input extends object>(table: Table<object, Input>, row: Input): void {
    if (this.#closing) {
      this.#counts.dropped++;
      return;
    }
    this.#queue.place(table, row);
    this.#schedule();
  }

  /** Like `put`, without delay. Resolves when the row is on disk. */
  async save<Input extends object>(table: Table<object, Input>, row: Input): Promise<void> {
    if (this.#closing) throw new StoreError('closed', 'the store is closed');
    await this.#arrival(this.#queue.place(table, row));
  }

  /**
   * Like `save`, but the row waits for others for up to `flushMs`.
   * @param share of the queue, past which the row is dropped and counted
   * @throws StoreError `full` if the row was dropped
   */
  async saveSoon<Input extends object>(table: Table<object, Input>, row: Input, share: number): Promise<void> {
    if (this.#closing) throw new StoreError('closed', 'the store is closed');
    if (this.#isFull(share) && !this.#queue.isWaiting(table, row)) {
      this.#counts.dropped++;
      throw new StoreError('full', 'too many rows wait to be written');
    }
    const entry = this.#queue.place(table, row);
    entry.settled ??= Promise.withResolvers();
    this.#schedule();
    await entry.settled.promise;
  }

  /** Like `save`, but writes only if the guard holds at that moment. @returns false if it did not hold: nothing was written */
  async saveGuarded<Input extends object>(table: Table<object, Input>, row: Input, guard: () => Guard): Promise<boolean> {
    if (this.#closing) throw new StoreError('closed', 'the store is closed');
    try {
      await this.#arrival(this.#queue.placeGuarded(table, row, guard));
      return true;
    } catch (error) {
      if (error instanceof StoreError && error.code === 'lost') return false;
      throw error;
    }
  }

  /** Runs `work` while no batch is written. Rows that are queued before wait for its end. */
  between<Result>(work: () => Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#pauses.push(() => work().then(resolve, reject));
    this.#start();
    return promise;
  }

  /** A stored row of a table that adds, plus the queued rows of its key. Exact between two batches. */
  withQueued<Row extends object>(table: Table<Row>, row: Row): Row {
    return this.#queue.withWaiting(table, row);
  }

  /** Writes what is queued now. @returns whether all of it was settled before the deadline */
  async flush(deadlineMs: number): Promise<boolean> {
    this.#queueGathered();
    const last = this.#queue.last ?? this.#inFlight.at(-1);
    if (!last) return true;
    const deadline = Promise.withResolvers<boolean>();
    const timer = setTimeout(deadline.resolve, deadlineMs, false);
    const settled = (): boolean => true;
    const inTime = await Promise.race([this.#arrival(last).then(settled, settled), deadline.promise]);
    clearTimeout(timer);
    return inTime;
  }

  /** Accepts no more rows, writes what is queued, and discards the rest at the deadline. @returns the number of lost rows */
  close(deadlineMs: number): Promise<number> {
    this.#closing ??= this.#drain(deadlineMs);
    return this.#closing;
  }

  stats(): WriterStats {
    const queued = this.#queue.length + this.#gathered.length + countOf(this.#inFlight);
    return { queued, ...this.#counts, ...this.#retry.stats };
  }

  #queueGathered(): void {
    clearTimeout(this.#gatherTimer);
    this.#gatherTimer = undefined;
    for (const { table, row } of this.#gathered.take(Number.POSITIVE_INFINITY)) this.#queue.place(table, row);
    this.#schedule();
  }

  #isFull(share = 1): boolean {
    return this.#queue.length >= this.#options.queueRows * share;
  }

  #schedule(): void {
    if (this.#working) return;
    if (this.#due()) this.#start();
    else if (this.#queue.length > 0) this.#timer ??= setTimeout(() => this.#start(), this.#options.flushMs).unref();
  }

  #due(): boolean {
    const { length } = this.#queue;
    return length >= this.#options.batchRows || (length > 0 && (this.#awaited > 0 || this.#retry.abandoned));
  }

  #arrival(entry: Entry): Promise<void> {
    entry.settled ??= Promise.withResolvers();
    if (!entry.isUrgent) {
      entry.isUrgent = true;
      // Only the first caller ends the pause between retries. If each of many callers did, there would be no pause.
      if (this.#awaited++ === 0) this.#retry.hurry();
    }
    this.#start();
    return entry.settled.promise;
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
    } while (this.#due() || this.#pauses.length > 0);
    this.#working = undefined;
    this.#schedule();
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
      return;
    }
    this.#inFlight = this.#inFlight.slice(entries.length);
    if (failure?.code !== 'lost')
      this.#counts[failure ? (failure.code === 'bad_row' ? 'rejected' : 'dropped') : 'written'] += countOf(entries);
    for (const { settled, isUrgent } of entries) {
      if (isUrgent) this.#awaited--;
      if (failure) settled?.reject(failure);
      else settled?.resolve();
    }
  }

  async #drain(deadlineMs: number): Promise<number> {
    const { dropped } = this.#counts;
    await this.flush(deadlineMs);
    this.#retry.abandon();
    this.#schedule();
    await this.#working;
    return this.#counts.dropped - dropped;
  }
}

const countOf = (entries: readonly Entry[]): number => entries.reduce((sum, { others }) => sum + 1 + (others?.length ?? 0), 0);

/** Adds up the statistics of two writers. */
export const together = (a: WriterStats, b: WriterStats): WriterStats => ({
  queued: a.queued + b.queued,
  written: a.written + b.written,
  dropped: a.dropped + b.dropped,
  rejected: a.rejected + b.rejected,
  failures: a.failures + b.failures,
  last_error: a.last_error ?? b.last_error,
  failing_since: a.failing_since ?? b.failing_since,
});
