// Every write goes through here: one batch at a time reaches the disk, in order, and is tried until it does.
import type { Batch } from './driver.ts';
import { StoreError, type StoreErrorCode } from './errors.ts';
import { batchOf, type Entry, Queue } from './queue.ts';
import type { Table } from './tables.ts';

export interface WriterOptions {
  readonly clock: () => number;
  /** Rows waiting at most; past it log rows are dropped and counted, all others still get in. */
  readonly queueRows: number;
  /** A batch goes out when it has this many rows, */
  readonly batchRows: number;
  /** or when its first row has waited this long. */
  readonly flushMs: number;
  /** First and longest pause after a failure. */
  readonly retryMs: readonly [first: number, longest: number];
}

export interface WriterStats {
  /** Waiting, the batch that is being written included. */
  readonly queued: number;
  readonly written: number;
  /** Lost: log rows past the bound, and what was left when a deadline ended `close` or came after it. */
  readonly dropped: number;
  /** Rows that no disk would take, such as one with a bigint in it. */
  readonly rejected: number;
  /** Batches that failed and were tried again. */
  readonly failures: number;
  readonly last_error: StoreErrorCode | null;
  /** Since when nothing could be written; null while all is well. */
  readonly failing_since: number | null;
}

export class Writer {
  readonly #write: (batch: Batch) => Promise<void>;
  readonly #options: WriterOptions;
  readonly #queue = new Queue();
  #inFlight: readonly Entry[] = [];
  /** Entries that somebody waits for: while there are any, no timer holds them up or lets the process end. */
  #awaited = 0;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #endPause: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #abandoned = false;
  readonly #counts = { written: 0, dropped: 0, rejected: 0, failures: 0 };
  #lastError: StoreErrorCode | null = null;
  #failingSince: number | null = null;

  constructor(write: (batch: Batch) => Promise<void>, options: WriterOptions) {
    this.#write = write;
    this.#options = options;
  }

  /** Queues a log row; drops it where the queue is full. Never throws, never waits. */
  append<Row extends object>(table: Table<Row>, row: Row): void {
    if (this.#closing || this.#queue.length >= this.#options.queueRows) {
      this.#counts.dropped++;
      return;
    }
    this.#queue.push(table, row);
    this.#schedule();
  }

  /** Queues a row that must not be lost; of several with one key only the last is written. */
  put<Row extends object>(table: Table<Row>, row: Row): void {
    if (this.#closing) {
      this.#counts.dropped++;
      return;
    }
    this.#queue.place(table, row);
    this.#schedule();
  }

  /** Like `put`, without delay; resolves when the row is on disk. */
  async save<Row extends object>(table: Table<Row>, row: Row): Promise<void> {
    if (this.#closing) throw new StoreError('closed', 'the store is closed');
    await this.#arrival(this.#queue.place(table, row));
  }

  /** Writes what is queued now; whether all of it was settled before the deadline. */
  async flush(deadlineMs: number): Promise<boolean> {
    const last = this.#queue.last ?? this.#inFlight.at(-1);
    if (!last) return true;
    const deadline = Promise.withResolvers<boolean>();
    const timer = setTimeout(deadline.resolve, deadlineMs, false);
    const settled = (): boolean => true;
    const inTime = await Promise.race([this.#arrival(last).then(settled, settled), deadline.promise]);
    clearTimeout(timer);
    return inTime;
  }

  /** Takes no more rows, writes what is queued, and gives up on the rest at the deadline. */
  close(deadlineMs: number): Promise<void> {
    this.#closing ??= this.#drain(deadlineMs);
    return this.#closing;
  }

  stats(): WriterStats {
    const queued = this.#queue.length + this.#inFlight.length;
    return { queued, ...this.#counts, last_error: this.#lastError, failing_since: this.#failingSince };
  }

  #schedule(): void {
    if (this.#working) return;
    if (this.#due()) this.#start();
    else if (this.#queue.length > 0) this.#timer ??= setTimeout(() => this.#start(), this.#options.flushMs).unref();
  }

  #due(): boolean {
    const { length } = this.#queue;
    return length >= this.#options.batchRows || (length > 0 && (this.#awaited > 0 || this.#abandoned));
  }

  #arrival(entry: Entry): Promise<void> {
    if (!entry.settled) {
      entry.settled = Promise.withResolvers();
      this.#awaited++;
    }
    this.#endPause?.();
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
      this.#inFlight = this.#queue.take(this.#options.batchRows);
      await this.#settle(this.#inFlight);
    } while (this.#due());
    this.#working = undefined;
    this.#schedule();
  }

  /** Sees a batch to its end; one with a bad row in it is halved until that row stands alone. */
  async #settle(entries: readonly Entry[]): Promise<void> {
    const failure = await this.#persist(batchOf(entries));
    if (failure?.code === 'bad_row' && entries.length > 1) {
      const middle = entries.length >> 1;
      await this.#settle(entries.slice(0, middle));
      await this.#settle(entries.slice(middle));
      return;
    }
    this.#inFlight = this.#inFlight.slice(entries.length);
    this.#counts[failure ? (failure.code === 'bad_row' ? 'rejected' : 'dropped') : 'written'] += entries.length;
    for (const { settled } of entries) {
      if (!settled) continue;
      this.#awaited--;
      if (failure) settled.reject(failure);
      else settled.resolve();
    }
  }

  /** Tries until the rows are on disk; else the reason why they never will be. */
  async #persist(batch: Batch): Promise<StoreError | undefined> {
    const [first, longest] = this.#options.retryMs;
    for (let pause = first; !this.#abandoned; pause = Math.min(pause * 2, longest)) {
      try {
        await this.#write(batch);
        this.#failingSince = null;
        return undefined;
      } catch (error) {
        const failure = error instanceof StoreError ? error : new StoreError('failed', 'the store could not write', { cause: error });
        this.#lastError = failure.code;
        if (failure.code === 'bad_row') return failure;
        this.#counts.failures++;
        this.#failingSince ??= this.#options.clock();
      }
      await this.#pause(pause);
    }
    return new StoreError('closed', 'the store closed before it could write');
  }

  #pause(ms: number): Promise<void> {
    if (this.#abandoned) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    if (this.#awaited === 0) timer.unref();
    this.#endPause = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }

  async #drain(deadlineMs: number): Promise<void> {
    await this.flush(deadlineMs);
    this.#abandoned = true;
    this.#endPause?.();
    this.#schedule();
    await this.#working;
  }
}
