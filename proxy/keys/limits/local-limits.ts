// Counts the limits of keys in this process, for a store with one node.
import type { Clock } from '../../base/time/clock.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { Ledger } from '../ledger.ts';
import { type Amounts, amountOf, countedTokens, settledAmounts } from '../usage-totals.ts';
import {
  amountsWithin,
  type Estimate,
  type LimitCounts,
  type LimitedKey,
  type LimitState,
  limitRefusalOf,
  type Reserved,
  statesOf,
} from './key-limits.ts';
import type { KeyUse, SettledDay } from './key-use.ts';
import { type LimitSet, type LimitType, limitsOf } from './limit-kinds.ts';
import { SlidingSum } from './sliding-sum.ts';

/** A turn that has reserved and has not been settled. */
interface RunningTurn {
  readonly amounts: Amounts;
  /** When the turn reserved; Unix milliseconds. */
  readonly at: number;
  /** The limits at the time of the reservation. */
  readonly set: LimitSet;
}

export class LocalLimits implements LimitCounts {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #uses = new Map<string, CountedUse>();

  constructor(ledger: Ledger, clock: Clock) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  reserve({ id, limits }: LimitedKey, estimate: () => Estimate): Reserved | Refusal {
    const set = limitsOf(limits);
    const use = this.#useOf(id);
    const at = this.#clock.now();
    const amounts = amountsWithin(set, estimate);
    if (amounts instanceof Refusal) return amounts;
    const refusal = limitRefusalOf(set.limits, use, amounts, at);
    if (refusal) return refusal;
    const turn = { amounts, at, set };
    use.begin(turn);
    let settled = false;
    return {
      amounts,
      settle: (used) => {
        if (settled) return;
        settled = true;
        use.end(turn, used && countedTokens(used.totals), this.#clock.now());
        if (used) this.#ledger.settle(id, used.pool, used.totals, used.of);
      },
    };
  }

  begin(key: string): () => void {
    const use = this.#useOf(key);
    use.running += 1;
    return () => {
      use.running -= 1;
    };
  }

  states(key: LimitedKey): readonly LimitState[] {
    return statesOf(key, this.#useOf(key.id), this.#clock.now());
  }

  #useOf(key: string): CountedUse {
    const known = this.#uses.get(key);
    if (known) return known;
    const use = new CountedUse(key, this.#ledger);
    this.#uses.set(key, use);
    return use;
  }
}

class CountedUse implements KeyUse {
  readonly minuteRequests = new SlidingSum();
  readonly minuteTokens = new SlidingSum();
  readonly reserved = { tokens: 0, costNanos: 0 };
  running = 0;
  readonly #key: string;
  readonly #ledger: Ledger;

  constructor(key: string, ledger: Ledger) {
    this.#key = key;
    this.#ledger = ledger;
  }

  begin({ amounts, at, set }: RunningTurn): void {
    this.running += 1;
    this.reserved.tokens += amounts.tokens;
    this.reserved.costNanos += amounts.costNanos;
    if (set.minuteRequests) this.minuteRequests.add(amounts.requests, at);
  }

  /** @param tokens undefined if the turn was never sent to an account */
  end({ amounts, at, set }: RunningTurn, tokens: number | undefined, now: number): void {
    this.running -= 1;
    this.reserved.tokens -= amounts.tokens;
    this.reserved.costNanos -= amounts.costNanos;
    if (tokens === undefined) {
      if (set.minuteRequests) this.minuteRequests.undo(amounts.requests, at, now);
    } else if (set.minuteTokens) this.minuteTokens.add(tokens, now);
  }

  settled(type: LimitType, days: number): number {
    return amountOf(type, settledAmounts(this.#ledger.ofKey(this.#key, days)));
  }

  settledDays(days: number): readonly SettledDay[] {
    return this.#ledger.daysOf(this.#key, days).map(({ day, totals }) => ({ day, amounts: settledAmounts(totals) }));
  }
}
