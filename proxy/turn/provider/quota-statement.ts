// What a provider states about an account's capacity, in any form: its quota, and the rate limits of one model (Q8, AA39).

/** One quota window of an account. Its length identifies it, because providers move a window between their slots. */
export interface QuotaWindow {
  /** The length of the window in seconds. */
  readonly seconds: number;
  /** Percent used, 0 to 100. */
  readonly used: number;
  /** Unix seconds; undefined if no possible time was stated. */
  readonly resetsAt: number | undefined;
}

/**
 * Where a statement came from, the most reliable first: an event of a reply, the headers of a reply, or the gateway's own read of usage.
 */
export type QuotaSource = 'event' | 'headers' | 'read';

export interface QuotaStatement {
  readonly source: QuotaSource;
  /** All windows of the account that the provider reports. */
  readonly windows: readonly QuotaWindow[];
  /** True: the account refuses turns. False: it accepts them. Undefined: not stated. */
  readonly reached: boolean | undefined;
}

export type RateKind = 'requests' | 'tokens';

export const RATE_KINDS: readonly RateKind[] = ['requests', 'tokens'];

/** A rate limit that an API account states with each answer. */
export interface RateLimit {
  readonly kind: RateKind;
  /** The share that is left, 0 to 1. */
  readonly left: number;
  /** Unix milliseconds; undefined if it is not stated. */
  readonly resetsAt: number | undefined;
}

/** The longest time for which turns wait because a rate limit is used up. A longer stated time is shortened to it. */
export const LONGEST_RATE_MS = 300_000;

/** The time until the used-up limits end, in milliseconds; undefined if none is used up or none states its end. */
export function rateReset(limits: readonly RateLimit[], now: number): number | undefined {
  const ends = limits.flatMap(({ left, resetsAt }) => (left === 0 && resetsAt !== undefined ? [resetsAt - now] : []));
  return ends.length > 0 ? Math.max(...ends) : undefined;
}

/** `primary`: at most a day. `secondary`: longer (Q8, Q20). */
export type WindowClass = 'primary' | 'secondary';

const DAY_SECONDS = 86_400;

export const classOf = ({ seconds }: Pick<QuotaWindow, 'seconds'>): WindowClass => (seconds <= DAY_SECONDS ? 'primary' : 'secondary');

/** Unix milliseconds. */
export const resetOf = ({ resetsAt }: Pick<QuotaWindow, 'resetsAt'>): number | undefined =>
  resetsAt === undefined ? undefined : resetsAt * 1000;

/** The window with the least quota left; the first of equal ones. */
export function fullest<W extends Pick<QuotaWindow, 'used'>>(windows: readonly W[]): W | undefined {
  let found: W | undefined;
  for (const window of windows) if (!found || window.used > found.used) found = window;
  return found;
}
