// The rows that are to be written: which are queued, merged, gathered or dropped, and what their callers wait for.
import type { Guard, RowBatch } from '../driver.ts';
import { StoreError } from '../errors.ts';
import type { Table } from '../schema/tables.ts';
import { BatchLoop, type BatchOptions } from './batch-loop.ts';
import { Queue, type TableRow } from './write-queue.ts';
import type { WriterStats } from './writer-stats.ts';

export interface WriterOptions extends BatchOptions {
  /** The most rows that wait. Past it log rows and pins are dropped and counted; all others are still queued. */
  readonly queueRows: number;
  /** How long `gather` adds rows up before they are queued. */
  readonly gatherMs: number;
}

export class Writer {
  readonly #options: WriterOptions;
  readonly #queue = new Queue();
  readonly #loop: BatchLoop;
  /** Sums that are not queued yet. */
  readonly #gathered = new Queue();
  #gatherTimer: NodeJS.Timeout | undefined;
  #closing: Promise<number> | undefined;
  /** Rows that were not queued. */
  #dropped = 0;

  constructor(write: (batch: RowBatch, guard?: Guard) => Promise<void>, options: WriterOptions) {
    this.#loop = new BatchLoop(this.#queue, write, options);
    this.#options = options;
  }

  /** Queues a log row, or drops it if the queue is full. Never throws, never waits. */
  append<Input extends object>(table: Table<object, Input>, row: Input): void {
    if (this.#closing || this.#isFull()) {
      this.#dropped++;
      return;
    }
    this.#queue.push(table, row);
    this.#loop.schedule();
  }

  /**
   * Queues a row that may be lost. Rows of one key are merged while they wait.
   * @param share of the queue, past which the row is dropped
   */
  offer<Input extends object>(table: Table<object, Input>, row: Input, share: number): void {
    if (this.#isFull(share) && !this.#queue.isWaiting(table, row)) this.#dropped++;
    else this.put(table, row);
  }

  /** Writes what is queued without delay. */
  hasten(): void {
    const { last } = this.#queue;
    if (last) this.#loop.writeNow(last).catch(() => undefined);
  }

  /**
   * Queues amounts that are added to a row of sums, with log rows that are written in the same transaction. If the queue is full, only
   * the log rows are dropped.
   */
  putTogether(sum: TableRow, logRows: readonly TableRow[]): void {
    if (this.#closing) this.#dropped += 1 + logRows.length;
    else if (this.#isFull()) {
      this.#dropped += logRows.length;
      this.put(...sum);
    } else {
      this.#queue.pushTogether(sum, logRows);
      this.#loop.schedule();
    }
  }

  /**
   * Queues a row of a table that adds, once rows of its key have been added up for `gatherMs`. Many turns add to such a row, so that
   * a batch has none of it, or all of a second.
   */
  gather<Input extends object>(table: Table<object, Input>, row: Input): void {
    if (this.#closing) {
      this.#dropped++;
      return;
    }
    this.#gathered.place(table, row);
    this.#gatherTimer ??= setTimeout(() => this.#queueGathered(), this.#options.gatherMs).unref();
  }

  /** Queues a row that must not be lost. Rows of one key are merged while they wait. */
  put<Input extends object>(table: Table<object, Input>, row: Input): void {
    if (this.#closing) {
      this.#dropped++;
      return;
    }
    this.#queue.place(table, row);
    this.#loop.schedule();
  }

  /** Like `put`, without delay. Resolves when the row is on disk. */
  async save<Input extends object>(table: Table<object, Input>, row: Input): Promise<void> {
    if (this.#closing) throw new StoreError('closed', 'the store is closed');
    await this.#loop.writeNow(this.#queue.place(table, row));
  }

  /**
   * Like `save`, but the row waits for others for up to `flushMs`.
   * @param share of the queue, past which the row is dropped and counted
   * @throws StoreError `full` if the row was dropped
   */
  async saveSoon<Input extends object>(table: Table<object, Input>, row: Input, share: number): Promise<void> {
    if (this.#closing) throw new StoreError('closed', 'the store is closed');
    if (this.#isFull(share) && !this.#queue.isWaiting(table, row)) {
      this.#dropped++;
      throw new StoreError('full', 'too many rows wait to be written');
    }
    const entry = this.#queue.place(table, row);
    entry.settled ??= Promise.withResolvers();
    this.#loop.schedule();
    await entry.settled.promise;
  }

  /** Like `save`, but writes only if the guard holds at that moment. @returns false if it did not hold: nothing was written */
  async saveGuarded<Input extends object>(table: Table<object, Input>, row: Input, guard: () => Guard): Promise<boolean> {
    if (this.#closing) throw new StoreError('closed', 'the store is closed');
    try {
      await this.#loop.writeNow(this.#queue.placeGuarded(table, row, guard));
      return true;
    } catch (error) {
      if (error instanceof StoreError && error.code === 'lost') return false;
      throw error;
    }
  }

  /** Runs `work` while no batch is written. Rows that are queued before wait for its end. */
  between<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#loop.between(work);
  }

  /** A stored row of a table that adds, plus the queued rows of its key. Exact between two batches. */
  withQueued<Row extends object>(table: Table<Row>, row: Row): Row {
    return this.#queue.withWaiting(table, row);
  }

  /** Writes what is queued now. @returns whether all of it was settled before the deadline */
  async flush(deadlineMs: number): Promise<boolean> {
    this.#queueGathered();
    const last = this.#queue.last ?? this.#loop.last;
    if (!last) return true;
    const deadline = Promise.withResolvers<boolean>();
    const timer = setTimeout(deadline.resolve, deadlineMs, false);
    const settled = (): boolean => true;
    const inTime = await Promise.race([this.#loop.writeNow(last).then(settled, settled), deadline.promise]);
    clearTimeout(timer);
    return inTime;
  }

  /** Accepts no more rows, writes what is queued, and discards the rest at the deadline. @returns the number of lost rows */
  close(deadlineMs: number): Promise<number> {
    this.#closing ??= this.#drain(deadlineMs);
    return this.#closing;
  }

  stats(): WriterStats {
    const taken = this.#loop.stats;
    const queued = taken.queued + this.#queue.length + this.#gathered.length;
    return { ...taken, queued, dropped: taken.dropped + this.#dropped };
  }

  #queueGathered(): void {
    clearTimeout(this.#gatherTimer);
    this.#gatherTimer = undefined;
    for (const { table, row } of this.#gathered.take(Number.POSITIVE_INFINITY)) this.#queue.place(table, row);
    this.#loop.schedule();
  }

  #isFull(share = 1): boolean {
    return this.#queue.length >= this.#options.queueRows * share;
  }

  async #drain(deadlineMs: number): Promise<number> {
    const { dropped } = this.stats();
    await this.flush(deadlineMs);
    await this.#loop.end();
    return this.stats().dropped - dropped;
  }
}
