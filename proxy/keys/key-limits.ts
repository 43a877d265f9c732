// The limits of all keys: a turn reserves what it may use before it is dispatched, and settles what it did use, once (Q19, S2).

import type { Clock } from '../clock.ts';
import { Refusal } from '../turn/refusal.ts';
import type { KeyConfig } from '../turn/settings.ts';
import { type Amounts, KeyUse } from './key-use.ts';
import type { Ledger } from './ledger.ts';
import { type Limit, type LimitType, type LimitWindow, limitsOf, sentenceOf } from './limit-kinds.ts';
import { dollars } from './usage-totals.ts';

/** Runs at the turn's end; a second call does nothing. @param used undefined for a turn that never reached an account */
export type Release = (used: Pick<Amounts, 'tokens'> | undefined) => void;

export interface Reserved {
  readonly amounts: Amounts;
  readonly release: Release;
}

/** A limit as its key sees it (Q20). */
export interface LimitState {
  readonly limit_type: LimitType;
  readonly limit_window: LimitWindow;
  readonly max_value: number;
  readonly current_value: number;
  readonly remaining_value: number;
  /** Unix seconds. */
  readonly reset_at: number | null;
}

/** Where time alone does not say when there is room: something must end first. */
const SOON_MS = 1_000;
const NANOS = 1e9;
const NOTHING: Omit<Amounts, 'requests'> = { tokens: 0, nanos: 0 };
const UNLIMITED: Reserved = { amounts: { requests: 1, ...NOTHING }, release: () => undefined };

export class KeyLimits {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #uses = new Map<string, KeyUse>();

  constructor(ledger: Ledger, clock: Clock) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  /**
   * Lets a turn of the key in, or tells which limit keeps it out the longest: `rate_limit_exceeded`. Told, not thrown: a function that
   * always throws stays interpreted, and clients of a spent key ask again and again.
   * @param amounts asked only where a limit needs it
   */
  reserve({ id, limits }: Pick<KeyConfig, 'id' | 'limits'>, amounts: () => Omit<Amounts, 'requests'>): Reserved | Refusal {
    const set = limitsOf(limits);
    if (set.limits.length === 0) return UNLIMITED;
    const use = this.#useOf(id);
    const at = this.#clock.now();
    const taken: Amounts = { requests: 1, ...(set.costly ? amounts() : NOTHING) };
    const refusal = refusalOf(set.limits, use, taken, at);
    if (refusal) return refusal;
    const entered = { amounts: taken, at, set };
    use.enter(entered);
    let over = false;
    const release: Release = (used) => {
      if (over) return;
      over = true;
      use.leave(entered, used, this.#clock.now());
    };
    return { amounts: taken, release };
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
        current_value: shown(limit, current),
        remaining_value: shown(limit, Math.max(0, maxOf(limit) - current)),
        reset_at: reset === undefined ? null : Math.ceil(reset / 1000),
      };
    });
  }

  #useOf(key: string): KeyUse {
    const known = this.#uses.get(key);
    if (known) return known;
    const made = new KeyUse(key, this.#ledger);
    this.#uses.set(key, made);
    return made;
  }
}

const needOf = ({ type }: Limit, { requests, tokens, nanos }: Amounts): number =>
  type === 'tokens' ? tokens : type === 'usd' ? nanos : requests;

const maxOf = ({ type, max }: Limit): number => (type === 'usd' ? Math.round(max * NANOS) : max);

const shown = ({ type }: Limit, value: number): number => (type === 'usd' ? dollars(value) : value);

function refusalOf(limits: readonly Limit[], use: KeyUse, taken: Amounts, now: number): Refusal | undefined {
  let longest: Limit | undefined;
  let wait = 0;
  for (const limit of limits) {
    const room = maxOf(limit) - needOf(limit, taken);
    if (use.current(limit, now) <= room) continue;
    const own = (use.roomAt(limit, room, now) ?? now + SOON_MS) - now;
    if (longest && own <= wait) continue;
    longest = limit;
    wait = own;
  }
  return longest && refusalFor(longest, Math.ceil(wait / 1000));
}

/** What was last said of a limit: it changes once a second, and clients of a spent key ask again and again. */
const said = new WeakMap<Limit, { readonly seconds: number; readonly refusal: Refusal }>();

function refusalFor(limit: Limit, seconds: number): Refusal {
  const last = said.get(limit);
  if (last?.seconds === seconds) return last.refusal;
  // Some SDKs sleep any Retry-After: nobody should wait for midnight inside a call (Q1).
  const long = limit.type === 'usd' || limit.window === 'day' || limit.window === 'week';
  const details = { message: sentenceOf(limit), retryAfterMs: seconds * 1000 };
  const refusal = new Refusal('rate_limit_exceeded', long ? { ...details, final: true } : details);
  said.set(limit, { seconds, refusal });
  return refusal;
}
