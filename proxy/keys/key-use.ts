// What one key has used of its limits at a moment: settled days from the ledger, the last minute, and what runs now (Q19).

import { DAY_MS, dayOf, type Ledger } from './ledger.ts';
import type { Limit, LimitSet, LimitType } from './limit-kinds.ts';
import { SlidingSum } from './sliding-sum.ts';
import type { Totals } from './usage-totals.ts';

/** What a turn takes, or is thought to take. */
export interface Amounts {
  readonly requests: number;
  readonly tokens: number;
  readonly nanos: number;
}

/** A turn that was let in: with what, when, and under which limits. */
export interface Entered {
  readonly amounts: Amounts;
  /** Unix milliseconds. */
  readonly at: number;
  readonly set: LimitSet;
}

const WEEK_DAYS = 7;

export class KeyUse {
  readonly #key: string;
  readonly #ledger: Ledger;
  /** Turns count from the moment at which they are let in, tokens when it is known how many they were. */
  readonly #requests = new SlidingSum();
  readonly #tokens = new SlidingSum();
  #running = 0;
  #reserved = { tokens: 0, nanos: 0 };

  constructor(key: string, ledger: Ledger) {
    this.#key = key;
    this.#ledger = ledger;
  }

  enter({ amounts, at, set }: Entered): void {
    this.#running += 1;
    this.#reserved.tokens += amounts.tokens;
    this.#reserved.nanos += amounts.nanos;
    if (set.minuteRequests) this.#requests.add(amounts.requests, at);
  }

  /** @param used undefined for a turn that never reached an account */
  leave({ amounts, at, set }: Entered, used: Pick<Amounts, 'tokens'> | undefined, now: number): void {
    this.#running -= 1;
    this.#reserved.tokens -= amounts.tokens;
    this.#reserved.nanos -= amounts.nanos;
    if (!used) {
      if (set.minuteRequests) this.#requests.undo(amounts.requests, at, now);
    } else if (set.minuteTokens) this.#tokens.add(used.tokens, now);
  }

  /** Of a dollar limit: billionths. */
  current({ type, window }: Pick<Limit, 'type' | 'window'>, now: number): number {
    if (type === 'concurrent') return this.#running;
    if (window === 'minute') return type === 'requests' ? this.#requests.sum(now) : this.#tokens.sum(now) + this.#reserved.tokens;
    const settled = amountOf(type, this.#ledger.ofKey(this.#key, window === 'day' ? 1 : WEEK_DAYS));
    if (type === 'requests') return settled + this.#running;
    return settled + (type === 'tokens' ? this.#reserved.tokens : this.#reserved.nanos);
  }

  /** When something of what counts now counts no longer; Unix milliseconds. */
  resetAt({ type, window }: Pick<Limit, 'type' | 'window'>, now: number): number | undefined {
    if (window === 'now') return undefined;
    if (window === 'minute') return (type === 'requests' ? this.#requests : this.#tokens).next(now);
    if (window === 'day') return dayOf(now) + DAY_MS;
    const oldest = this.#ledger.daysOf(this.#key, WEEK_DAYS).find(({ totals }) => amountOf(type, totals) > 0);
    return oldest && oldest.day + WEEK_DAYS * DAY_MS;
  }

  /** When there will be room for that much more, as far as time alone makes it; Unix milliseconds. */
  roomAt({ type, window }: Pick<Limit, 'type' | 'window'>, room: number, now: number): number | undefined {
    if (window === 'now') return undefined;
    if (window === 'day') return dayOf(now) + DAY_MS;
    if (window === 'minute') {
      if (type === 'requests') return this.#requests.fallsTo(room, now);
      return this.#tokens.fallsTo(room - this.#reserved.tokens, now);
    }
    let left = this.current({ type, window }, now);
    for (const { day, totals } of this.#ledger.daysOf(this.#key, WEEK_DAYS)) {
      left -= amountOf(type, totals);
      if (left <= room) return day + WEEK_DAYS * DAY_MS;
    }
    return undefined;
  }
}

/** Turns of unknown usage count for what they had reserved. */
function amountOf(type: LimitType, totals: Readonly<Totals>): number {
  if (type === 'requests') return totals.requests;
  if (type === 'usd') return totals.cost_nanos + totals.held_nanos;
  return totals.input_tokens + totals.output_tokens + totals.held_tokens;
}
