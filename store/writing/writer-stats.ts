// What a writer counts of its rows, and the sum over two writers.
import type { RetryStats } from './retry.ts';

export interface WriterStats extends RetryStats {
  /** The number of rows that wait, including the batch that is being written. */
  readonly queued: number;
  readonly written: number;
  /** Lost rows: log rows past the bound, and the rows that were left at the deadline of `close` or came after it. */
  readonly dropped: number;
  /** Rows that can never be written, such as one with a bigint. */
  readonly rejected: number;
}

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
