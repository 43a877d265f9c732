// The current use of one key's limits: settled days from the ledger, the last minute, and running turns (Q19).
import { DAY_MS, dayOf, type Ledger } from './ledger.ts';
import type { Limit, LimitSet, LimitType } from './limit-kinds.ts';
import { SlidingSum } from './sliding-sum.ts';
import type { Totals } from './usage-totals.ts';

/** What a turn uses, or is estimated to use. */
export interface Amounts {
  readonly requests: number;
  readonly tokens: number;
  /** Billionths of a US dollar. */
  readonly costNanos: number;
}

/** Tokens and their cost. */
export type Usage = Omit<Amounts, 'requests'>;

/** A turn that has reserved and has not been settled. */
export interface RunningTurn {
  readonly amounts: Amounts;
  /** When it reserved, in Unix milliseconds. */
  readonly at: number;
  /** The limits at that time. */
  readonly set: LimitSet;
}

const WEEK_DAYS = 7;

export class KeyUse {
  readonly #key: string;
  readonly #ledger: Ledger;
  /** Of the last minute. Requests count from their reservation, tokens from their settlement. */
  readonly #requests = new SlidingSum();
  readonly #tokens = new SlidingSum();
  #running = 0;
  #reserved = { tokens: 0, costNanos: 0 };

  constructor(key: string, ledger: Ledger) {
    this.#key = key;
    this.#ledger = ledger;
  }

  begin({ amounts, at, set }: RunningTurn): void {
    this.#running += 1;
    this.#reserved.tokens += amounts.tokens;
    this.#reserved.costNanos += amounts.costNanos;
    if (set.minuteRequests) this.#requests.add(amounts.requests, at);
  }

  /** @param used undefined for a turn that was never sent to an account */
  end({ amounts, at, set }: RunningTurn, used: Pick<Amounts, 'tokens'> | undefined, now: number): void {
    this.#running -= 1;
    this.#reserved.tokens -= amounts.tokens;
    this.#reserved.costNanos -= amounts.costNanos;
    if (!used) {
      if (set.minuteRequests) this.#requests.undo(amounts.requests, at, now);
    } else if (set.minuteTokens) this.#tokens.add(used.tokens, now);
  }

  /** The amount that counts against the limit; of a dollar limit in billionths of a dollar. */
  current({ type, window }: Pick<Limit, 'type' | 'window'>, now: number): number {
    if (type === 'concurrent') return this.#running;
    if (window === 'minute') return type === 'requests' ? this.#requests.sum(now) : this.#tokens.sum(now) + this.#reserved.tokens;
    const settled = amountOf(type, this.#ledger.ofKey(this.#key, window === 'day' ? 1 : WEEK_DAYS));
    if (type === 'requests') return settled + this.#running;
    return settled + (type === 'tokens' ? this.#reserved.tokens : this.#reserved.costNanos);
  }

  /** When the current amount next falls because time passes; Unix milliseconds. */
  resetAt({ type, window }: Pick<Limit, 'type' | 'window'>, now: number): number | undefined {
    if (window === 'now') return undefined;
    if (window === 'minute') return (type === 'requests' ? this.#requests : this.#tokens).firstExpiry(now);
    if (window === 'day') return dayOf(now) + DAY_MS;
    const oldest = this.#ledger.daysOf(this.#key, WEEK_DAYS).find(({ totals }) => amountOf(type, totals) > 0);
    return oldest && oldest.day + WEEK_DAYS * DAY_MS;
  }

  /** When the current amount falls to `max` because time passes; undefined where running turns decide. Unix milliseconds. */
  fallsTo(max: number, { type, window }: Pick<Limit, 'type' | 'window'>, now: number): number | undefined {
    if (window === 'now') return undefined;
    if (window === 'minute') {
      if (type === 'requests') return this.#requests.fallsTo(max, now);
      return this.#tokens.fallsTo(max - this.#reserved.tokens, now);
    }
    // A running request has its place in the day already; the tokens and the cost of a running turn may still turn out lower.
    if (type === 'requests') return dayOf(now) + DAY_MS;
    const days = window === 'day' ? 1 : WEEK_DAYS;
    const settled = amountOf(type, this.#ledger.ofKey(this.#key, days));
    if (settled <= max) return undefined;
    let left = this.current({ type, window }, now);
    for (const { day, totals } of this.#ledger.daysOf(this.#key, days)) {
      left -= amountOf(type, totals);
      if (left <= max) return day + days * DAY_MS;
    }
    return undefined;
  }
}

/** Turns of unknown usage count with the amounts that they had reserved. */
function amountOf(type: LimitType, totals: Readonly<Totals>): number {
  if (type === 'requests') return totals.requests;
  if (type === 'usd') return totals.cost_nanos + totals.held_nanos;
  return totals.input_tokens + totals.output_tokens + totals.held_tokens;
}
