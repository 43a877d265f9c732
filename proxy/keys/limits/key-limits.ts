// The limits of a key, independent of where they are counted: what a turn reserves, whether it fits, and its refusal if it does not (Q1,
// Q19, S2).
import type { LoggedRequest } from '../../../store/store.ts';
import { isoOfMs } from '../../base/time/iso-time.ts';
import { dollars, nanosOf } from '../../turn/costs/nanos.ts';
import { LONGEST_RETRY_AFTER_MS, Refusal, type RefusalDetails } from '../../turn/errors/refusal.ts';
import { type Amounts, amountOf, type Totals, type Usage } from '../usage-totals.ts';
import { currentUse, fallsTo, type KeyUse, useResetOf } from './key-use.ts';
import { type CountedLimits, type Limit, type LimitSet, type LimitType, type LimitWindow, limitsOf, limitText } from './limit-kinds.ts';

/** A key, or the cap of a tier, which is counted like a key. */
export interface LimitedKey {
  readonly id: string;
  readonly limits: CountedLimits;
}

/** The usage of a turn, and the Pool that served it. */
export interface Used {
  readonly pool: string;
  readonly totals: Totals;
  /** The turn's log rows, which are written in the same transaction. */
  readonly of?: LoggedRequest;
}

export interface Reserved {
  readonly amounts: Amounts;
  /** Ends the reservation and records the usage; a second call does nothing. @param used undefined for a turn that was never sent to an account */
  readonly settle: (used: Used | undefined) => void;
}

/** The estimated usage of a turn (Q19). */
export interface Estimate {
  /** The usage with at most 2,048 tokens of output. A turn can never run if this exceeds a limit. */
  readonly least: Usage;
  /** The usage with the forecast of the output. */
  readonly expected: Usage;
}

/** A limit as `GET /v1/usage` shows it (Q20). */
export interface LimitState {
  readonly limit_type: LimitType;
  readonly limit_window: LimitWindow;
  readonly max_value: number;
  readonly current_value: number;
  readonly remaining_value: number;
  /** Unix seconds. */
  readonly reset_at: number | null;
}

/** Where the limits of keys are counted: in this process, or in the store for all nodes together (Q34). */
export interface LimitCounts {
  /**
   * Reserves capacity for a turn of a key with limits, or returns the refusal `rate_limit_exceeded`. Refusals are returned, because V8 does
   * not optimise a function that always throws, and clients of an exhausted key ask often.
   * @param estimate called only if a limit needs it
   */
  reserve(key: LimitedKey, estimate: () => Estimate): Reserved | Refusal | Promise<Reserved | Refusal>;
  states(key: LimitedKey): readonly LimitState[] | Promise<readonly LimitState[]>;
  /**
   * Counts a running turn that reserves nothing, because a reload may add limits. Returns the function that ends the count. Turns of other
   * nodes are not counted, because that would need a round trip.
   */
  begin(key: string): () => void;
}

/** The stated wait if a running turn must end first. */
const UNKNOWN_WAIT_MS = 1_000;
const NO_USAGE: Usage = { tokens: 0, costNanos: 0 };

/** The amounts that a turn reserves, estimated only if a limit needs it; or the refusal of a turn that can never fit. */
export function amountsWithin(set: LimitSet, estimate: () => Estimate): Amounts | Refusal {
  const usage = set.needsEstimate ? usageWithin(set.limits, estimate()) : NO_USAGE;
  return usage instanceof Refusal ? usage : { requests: 1, ...usage };
}

/**
 * The expected usage, reduced to what fits into an empty window of each limit, so that a high forecast cannot refuse a turn for ever.
 * Returns a refusal if not even the least usage fits.
 */
function usageWithin(limits: readonly Limit[], { least, expected }: Estimate): Usage | Refusal {
  let { tokens, costNanos } = expected;
  for (const limit of limits) {
    if (limit.type !== 'tokens' && limit.type !== 'usd') continue;
    const max = maxOf(limit);
    const needed = limit.type === 'tokens' ? least.tokens : least.costNanos;
    if (needed > max) return limitTooSmall(limit, needed);
    if (limit.type === 'tokens') tokens = Math.min(tokens, max);
    else costNanos = Math.min(costNanos, max);
  }
  return { tokens, costNanos };
}

/** The refusal for the limit with the longest wait; undefined if all limits have room for the amounts. */
export function limitRefusalOf(limits: readonly Limit[], use: KeyUse, amounts: Amounts, now: number): Refusal | undefined {
  let longest: { readonly limit: Limit; readonly end: number | undefined; readonly wait: number } | undefined;
  for (const limit of limits) {
    const max = maxOf(limit) - amountOf(limit.type, amounts);
    if (currentUse(use, limit, now) <= max) continue;
    const end = fallsTo(use, max, limit, now);
    const wait = end === undefined ? UNKNOWN_WAIT_MS : end - now;
    if (!longest || wait > longest.wait) longest = { limit, end, wait };
  }
  return longest && limitReached(longest.limit, longest);
}

export function statesOf({ limits }: LimitedKey, use: KeyUse, now: number): readonly LimitState[] {
  return limitsOf(limits).limits.map((limit) => {
    const current = currentUse(use, limit, now);
    const reset = useResetOf(use, limit, now);
    return {
      limit_type: limit.type,
      limit_window: limit.window,
      max_value: limit.max,
      current_value: publicValue(limit, current),
      remaining_value: publicValue(limit, Math.max(0, maxOf(limit) - current)),
      reset_at: reset === undefined ? null : Math.ceil(reset / 1000),
    };
  });
}

/** The maximum in the unit of amounts. A dollar limit counts in billionths. */
export const maxOf = ({ type, max }: Limit): number => (type === 'usd' ? nanosOf(max) : max);

/** A value in the unit of the configuration. */
const publicValue = ({ type }: Limit, value: number): number => (type === 'usd' ? dollars(value) : value);

/** Native clients do not retry an error of this type. They show `resets_at` to their user. */
const FINAL = { type: 'usage_limit_reached', final: true } as const;

/** The refusal of a turn that would not fit into an empty window. @param needed tokens, or billionths of a dollar */
function limitTooSmall(limit: Limit, needed: number): Refusal {
  const amount = limit.type === 'usd' ? `${dollars(needed)} US dollars` : `${needed} tokens`;
  const message = `This request needs about ${amount}, which never fits the limit of this API key: ${limitText(limit)}.`;
  return new Refusal('rate_limit_exceeded', { ...FINAL, message });
}

/** When a limit has room again. Times are in milliseconds. */
interface LimitWait {
  /** Unix time; undefined if running turns must end first. */
  readonly end: number | undefined;
  readonly wait: number;
}

/**
 * The refusal of a limit that has no room now. Limits of a day, of a week and of dollars are final, because clients must not sleep until
 * midnight inside a call.
 */
function limitReached(limit: Limit, { end, wait }: LimitWait): Refusal {
  const message = `The limit of this API key is reached: ${limitText(limit)}.`;
  if (limit.type !== 'usd' && limit.window !== 'day' && limit.window !== 'week' && limit.window !== 'month') {
    // The store counts a minute to the end of its slot, and its clock may be ahead. A wait of over a minute would make the refusal final.
    const retryAfterMs = Math.min(wait, LONGEST_RETRY_AFTER_MS);
    const short = Math.ceil(retryAfterMs / 1000);
    return cached(limit, `${short}`, () => ({ message: `${message} Try again in ${short} s.`, retryAfterMs }));
  }
  const seconds = Math.ceil(wait / 1000);
  if (end === undefined) return cached(limit, '', () => ({ ...FINAL, message }));
  // A longer wait than a minute is not stated.
  return cached(limit, `${end} ${wait > LONGEST_RETRY_AFTER_MS ? '' : seconds}`, () => {
    return { ...FINAL, message: `${message} It resets at ${isoOfMs(end)}.`, resetsAt: Math.ceil(end / 1000), retryAfterMs: wait };
  });
}

/**
 * The last refusal of each limit. It is cached because clients of an exhausted key ask often, and its content changes at most once a
 * second.
 */
const lastRefusals = new WeakMap<Limit, { readonly content: string; readonly refusal: Refusal }>();

function cached(limit: Limit, content: string, details: () => RefusalDetails): Refusal {
  const last = lastRefusals.get(limit);
  if (last?.content === content) return last.refusal;
  const refusal = new Refusal('rate_limit_exceeded', details());
  lastRefusals.set(limit, { content, refusal });
  return refusal;
}
