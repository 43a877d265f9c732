// Writes a batch again after increasing pauses, until it is on disk, is known to be unwritable, or the store closes.
import type { Guard, RowBatch } from '../driver.ts';
import { StoreError, type StoreErrorCode } from '../errors.ts';
import type { Notice } from './notice.ts';

export interface RetryOptions {
  readonly clock: () => number;
  /** The first and the longest pause after a failure. */
  readonly retryMs: readonly [first: number, longest: number];
  /** Called when writes begin to fail, and when they succeed again. */
  readonly notice: Notice;
  /** Failures that are not reported to `notice`. */
  readonly unmentioned: ReadonlySet<StoreErrorCode>;
}

export interface RetryStats {
  /** The number of failed writes that were tried again. */
  readonly failures: number;
  readonly last_error: StoreErrorCode | null;
  /** Since when nothing could be written; null while writes succeed. */
  readonly failing_since: number | null;
}

export interface RetriedWrite {
  readonly batch: RowBatch;
  /** Called at each try, because a lease may expire between two tries. */
  readonly guard: (() => Guard) | undefined;
  readonly isAwaited: () => boolean;
}

/** Advice for the operator by code. For other codes the notice has the code alone. */
const ADVICE: Readonly<Partial<Record<StoreErrorCode, string>>> = {
  corrupt: 'the database is damaged: stop the gateway and restore a backup',
  failed: 'the write fails: check the disk, its quota, limits of file sizes, and the log of a database server',
  full: 'the disk is full: free some space',
  locked: 'another process has locked the database: end it',
  not_writable: 'the database accepts no writes: it is read-only, or this user may not write it',
};

const WAITS = 'rows wait in memory, and are lost at a stop';

/** Failures after which another try is useless. */
const FINAL: ReadonlySet<StoreErrorCode> = new Set<StoreErrorCode>(['bad_row', 'lost']);

export class Retry {
  readonly #write: (batch: RowBatch, guard?: Guard) => Promise<void>;
  readonly #options: RetryOptions;
  #endPause: (() => void) | undefined;
  #abandoned = false;
  #failures = 0;
  #lastError: StoreErrorCode | null = null;
  #failingSince: number | null = null;
  #mentioned = false;

  constructor(write: (batch: RowBatch, guard?: Guard) => Promise<void>, options: RetryOptions) {
    this.#write = write;
    this.#options = options;
  }

  get stats(): RetryStats {
    return { failures: this.#failures, last_error: this.#lastError, failing_since: this.#failingSince };
  }

  /** Resolves with undefined when the batch is on disk, else with the reason why it never will be. */
  async write({ batch, guard, isAwaited }: RetriedWrite): Promise<StoreError | undefined> {
    const [first, longest] = this.#options.retryMs;
    for (let pause = first; !this.#abandoned; pause = Math.min(pause * 2, longest)) {
      try {
        await this.#write(batch, guard?.());
        this.#recovered();
        return undefined;
      } catch (error) {
        const failure = error instanceof StoreError ? error : new StoreError('failed', 'the store could not write', { cause: error });
        // The store has answered, so it works again.
        if (failure.code === 'lost') this.#recovered();
        else this.#lastError = failure.code;
        if (FINAL.has(failure.code)) return failure;
        this.#failures++;
        this.#failed(failure.code);
      }
      if (!this.#abandoned) await this.#pause(pause, isAwaited);
    }
    return new StoreError('closed', 'the store closed before it could write');
  }

  /** Ends the current pause. */
  hurry(): void {
    this.#endPause?.();
  }

  /** Ends all further tries. */
  abandon(): void {
    this.#abandoned = true;
    this.hurry();
  }

  #failed(code: StoreErrorCode): void {
    this.#failingSince ??= this.#options.clock();
    if (this.#mentioned || this.#options.unmentioned.has(code)) return;
    this.#mentioned = true;
    const advice = ADVICE[code];
    this.#options.notice('store_not_writable', { code, message: advice === undefined ? WAITS : `${advice}. Until then ${WAITS}` });
  }

  #recovered(): void {
    if (this.#failingSince === null) return;
    this.#failingSince = null;
    if (this.#mentioned) this.#options.notice('store_writable');
    this.#mentioned = false;
  }

  /** Waits. The pause keeps the process alive only while a caller waits for the batch. */
  #pause(ms: number, isAwaited: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    if (!isAwaited()) timer.unref();
    this.#endPause = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }
}
