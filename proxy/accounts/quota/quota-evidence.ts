// What was stated of an account's quota: its windows and its exhaustion, each with its time and its source, and how long that counts (Q8).
import type { QuotaSource, QuotaWindow } from '../../turn/provider/quota-statement.ts';

export interface KnownWindow extends QuotaWindow {
  /** When the evidence was stated; Unix milliseconds. */
  readonly at: number;
  readonly source: QuotaSource;
}

/** A statement of the account that it is out of quota. It takes precedence over the windows. */
export interface Exhaustion {
  /** When the exhaustion was stated; Unix milliseconds. */
  readonly at: number;
  /** The end of the exhaustion, Unix seconds; undefined if it is not known. */
  readonly until: number | undefined;
  /** A refusal is as trusted as headers. A limit without a window is as trusted as a read, so a read ends it. */
  readonly source: QuotaSource;
}

/** Evidence in the form of the store, which other nodes read. */
export interface StoredQuota {
  readonly windows: readonly KnownWindow[];
  readonly spent: Exhaustion | null;
  /** When a newer statement ended the last exhaustion; Unix milliseconds. */
  readonly recovered: number | null;
}

/** How long evidence counts. Without evidence the quota is unknown and the account eligible. */
export const FRESH_MS = 15 * 60_000;

/** Overlapping turns report the same moment. Within this time the more trusted source counts; after it the newer statement counts. */
export const SAME_MOMENT_MS = 60_000;
