// The amounts that count against the limits of one key, and when they will fall. They come from settled days, the last minute, and running
// turns (Q19).
import { DAY_MS, nextDay, nextMonth } from '../../base/time/utc-days.ts';
import { type Amounts, amountOf, type Usage } from '../usage-totals.ts';
import type { Limit, LimitType, LimitWindow } from './limit-kinds.ts';

/** The settled use of one UTC day. */
export interface SettledDay {
  /** The day's midnight UTC; Unix milliseconds. */
  readonly day: number;
  readonly amounts: Amounts;
}

/** A sum over the last minute. All times are Unix milliseconds. */
export interface MinuteSum {
  sum(now: number): number;
  /** When the oldest amount stops counting; undefined for an empty sum. */
  firstExpiry(now: number): number | undefined;
  /** When the sum will have fallen to `max`; undefined if it never will. */
  fallsTo(max: number, now: number): number | undefined;
}

/** The use of one key: counted in this process, or read from the store for all nodes. */
export interface KeyUse {
  /** The number of turns that have reserved and have not been settled. */
  readonly running: number;
  /** The sum of the reservations of running turns. */
  readonly reserved: Usage;
  /** The last minute. Requests count from their reservation, tokens from their settlement. */
  readonly minuteRequests: MinuteSum;
  readonly minuteTokens: MinuteSum;
  /** The sum of the last days, including today. Turns of unknown usage count with the amounts that they reserved. */
  settled(type: LimitType, days: number): number;
  /** The last days that have use, oldest first. */
  settledDays(days: number): readonly SettledDay[];
}

/** The amount that a limit counts, and its window. */
type Counted = Pick<Limit, 'type' | 'window'>;

const WEEK_DAYS = 7;

/** The number of days that count, including today. */
export const daysOf = (window: LimitWindow, now: number): number =>
  window === 'day' ? 1 : window === 'month' ? new Date(now).getUTCDate() : WEEK_DAYS;

/** The amount that counts against the limit. A dollar limit counts in billionths of a dollar. */
export function currentUse(use: KeyUse, { type, window }: Counted, now: number): number {
  if (type === 'concurrent') return use.running;
  if (window === 'minute') return type === 'requests' ? use.minuteRequests.sum(now) : use.minuteTokens.sum(now) + use.reserved.tokens;
  const settled = use.settled(type, daysOf(window, now));
  if (type === 'requests') return settled + use.running;
  return settled + (type === 'tokens' ? use.reserved.tokens : use.reserved.costNanos);
}

/** When the current amount next falls because time passes; Unix milliseconds. */
export function useResetOf(use: KeyUse, { type, window }: Counted, now: number): number | undefined {
  if (window === 'now') return undefined;
  if (window === 'minute') return (type === 'requests' ? use.minuteRequests : use.minuteTokens).firstExpiry(now);
  if (window === 'day') return nextDay(now);
  if (window === 'month') return nextMonth(now);
  const oldest = use.settledDays(WEEK_DAYS).find(({ amounts }) => amountOf(type, amounts) > 0);
  return oldest && oldest.day + WEEK_DAYS * DAY_MS;
}

/** When the current amount will have fallen to `max` because time passes; undefined if running turns must end first. Unix milliseconds. */
export function fallsTo(use: KeyUse, max: number, { type, window }: Counted, now: number): number | undefined {
  if (window === 'now') return undefined;
  if (window === 'minute') {
    if (type === 'requests') return use.minuteRequests.fallsTo(max, now);
    return use.minuteTokens.fallsTo(max - use.reserved.tokens, now);
  }
  // Running requests count in the day already. The tokens and the cost of running turns may still turn out lower.
  if (type === 'requests') return nextDay(now);
  const days = daysOf(window, now);
  if (use.settled(type, days) <= max) return undefined;
  if (window === 'month') return nextMonth(now);
  let left = currentUse(use, { type, window }, now);
  for (const { day, amounts } of use.settledDays(days)) {
    left -= amountOf(type, amounts);
    if (left <= max) return day + days * DAY_MS;
  }
  return undefined;
}
