// The limits of all keys: a turn reserves its estimated usage before dispatch, and settles its real usage once (Q19, S2).
import type { Clock } from '../clock.ts';
import { Refusal } from '../turn/refusal.ts';
import type { KeyConfig } from '../turn/settings.ts';
import { type Amounts, KeyUse } from './key-use.ts';
import type { Ledger } from './ledger.ts';
import { type Limit, type LimitType, type LimitWindow, limitMessage, limitsOf } from './limit-kinds.ts';
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

/** The wait where a running turn must end first. */
const UNKNOWN_WAIT_MS = 1_000;
const NANOS = 1e9;
const NO_ESTIMATE: Omit<Amounts, 'requests'> = { tokens: 0, costNanos: 0 };
const UNLIMITED: Reserved = { amounts: { requests: 1, ...NO_ESTIMATE }, release: () => undefined };

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
  reserve({ id, limits }: Pick<KeyConfig, 'id' | 'limits'>, estimate: () => Omit<Amounts, 'requests'>): Reserved | Refusal {
    const set = limitsOf(limits);
    if (set.limits.length === 0) return UNLIMITED;
    const use = this.#useOf(id);
    const at = this.#clock.now();
    const amounts: Amounts = { requests: 1, ...(set.needsEstimate ? estimate() : NO_ESTIMATE) };
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

function refusalOf(limits: readonly Limit[], use: KeyUse, amounts: Amounts, now: number): Refusal | undefined {
  let longest: Limit | undefined;
  let longestWait = 0;
  for (const limit of limits) {
    const max = maxOf(limit) - amountFor(limit, amounts);
    if (use.current(limit, now) <= max) continue;
    const wait = (use.fallsTo(max, limit, now) ?? now + UNKNOWN_WAIT_MS) - now;
    if (longest && wait <= longestWait) continue;
    longest = limit;
    longestWait = wait;
  }
  return longest && refusalFor(longest, Math.ceil(longestWait / 1000));
}

/** The last refusal of each limit: it changes once a second, and clients of an exhausted key ask often. */
const lastRefusals = new WeakMap<Limit, { readonly seconds: number; readonly refusal: Refusal }>();

function refusalFor(limit: Limit, seconds: number): Refusal {
  const last = lastRefusals.get(limit);
  if (last?.seconds === seconds) return last.refusal;
  // Some SDKs sleep any Retry-After: a client must not sleep until midnight inside a call (Q1).
  const final = limit.type === 'usd' || limit.window === 'day' || limit.window === 'week';
  const details = { message: limitMessage(limit), retryAfterMs: seconds * 1000 };
  const refusal = new Refusal('rate_limit_exceeded', final ? { ...details, final } : details);
  lastRefusals.set(limit, { seconds, refusal });
  return refusal;
}
