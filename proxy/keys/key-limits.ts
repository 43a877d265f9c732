// The limits of all keys: a turn reserves its estimated usage before dispatch, and settles its real usage once (Q19, S2).
import type { Clock } from '../clock.ts';
import { Refusal } from '../turn/refusal.ts';
import type { KeyConfig } from '../turn/settings.ts';
import { type Amounts, KeyUse, type Usage } from './key-use.ts';
import type { Ledger } from './ledger.ts';
import { type Limit, type LimitType, type LimitWindow, limitsOf } from './limit-kinds.ts';
import { limitReached, limitTooSmall } from './limit-refusal.ts';
import { dollars } from './usage-totals.ts';

export interface Reserved {
  readonly amounts: Amounts;
  /** Ends the reservation; a second call does nothing. @param used undefined for a turn that was never sent to an account */
  readonly release: (used: Pick<Amounts, 'tokens'> | undefined) => void;
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

/** The estimated usage of a turn (Q19). */
export interface Estimate {
  /** With at most 2,048 tokens of output. A turn can never run where this exceeds a limit. */
  readonly least: Usage;
  /** With the forecast output. */
  readonly expected: Usage;
}

/** The wait where a running turn must end first. */
const UNKNOWN_WAIT_MS = 1_000;
const NANOS = 1e9;
const NO_USAGE: Usage = { tokens: 0, costNanos: 0 };
const UNLIMITED: Reserved = { amounts: { requests: 1, ...NO_USAGE }, release: () => undefined };

export class KeyLimits {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #uses = new Map<string, KeyUse>();

  constructor(ledger: Ledger, clock: Clock) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  /**
   * Reserves capacity for a turn, or returns the refusal with the longest wait: `rate_limit_exceeded`. It returns refusals because a
   * function that always throws is not optimised, and clients of an exhausted key ask often.
   * @param estimate called only where a limit needs it
   */
  reserve({ id, limits }: Pick<KeyConfig, 'id' | 'limits'>, estimate: () => Estimate): Reserved | Refusal {
    const set = limitsOf(limits);
    if (set.limits.length === 0) return UNLIMITED;
    const use = this.#useOf(id);
    const at = this.#clock.now();
    const usage = set.needsEstimate ? usageWithin(set.limits, estimate()) : NO_USAGE;
    if (usage instanceof Refusal) return usage;
    const amounts: Amounts = { requests: 1, ...usage };
    const refusal = refusalOf(set.limits, use, amounts, at);
    if (refusal) return refusal;
    const turn = { amounts, at, set };
    use.begin(turn);
    let released = false;
    return {
      amounts,
      release: (used) => {
        if (released) return;
        released = true;
        use.end(turn, used, this.#clock.now());
      },
    };
  }

  states({ id, limits }: Pick<KeyConfig, 'id' | 'limits'>): readonly LimitState[] {
    const use = this.#useOf(id);
    const now = this.#clock.now();
    return limitsOf(limits).limits.map((limit) => {
      const current = use.current(limit, now);
      const reset = use.resetAt(limit, now);
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

  #useOf(key: string): KeyUse {
    const known = this.#uses.get(key);
    if (known) return known;
    const use = new KeyUse(key, this.#ledger);
    this.#uses.set(key, use);
    return use;
  }
}

const amountFor = ({ type }: Limit, { requests, tokens, costNanos }: Amounts): number =>
  type === 'tokens' ? tokens : type === 'usd' ? costNanos : requests;

/** In the unit of amounts: of a dollar limit in billionths. */
const maxOf = ({ type, max }: Limit): number => (type === 'usd' ? Math.round(max * NANOS) : max);

/** In the unit of the configuration. */
const publicValue = ({ type }: Limit, value: number): number => (type === 'usd' ? dollars(value) : value);

/**
 * The expected usage, reduced to what an empty window of each limit has room for: a high forecast must not refuse a turn for ever.
 * Returns a refusal where not even the least usage fits.
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

/** The refusal of the limit with the longest wait; undefined where all limits have room. */
function refusalOf(limits: readonly Limit[], use: KeyUse, amounts: Amounts, now: number): Refusal | undefined {
  let longest: { readonly limit: Limit; readonly end: number | undefined; readonly wait: number } | undefined;
  for (const limit of limits) {
    const max = maxOf(limit) - amountFor(limit, amounts);
    if (use.current(limit, now) <= max) continue;
    const end = use.fallsTo(max, limit, now);
    const wait = end === undefined ? UNKNOWN_WAIT_MS : end - now;
    if (!longest || wait > longest.wait) longest = { limit, end, wait };
  }
  return longest && limitReached(longest.limit, longest);
}
