// Accounts for what the higher tiers of Pools cost: reserves it against their caps before a turn is sent, and settles it at its cost, over
// all nodes (AA69).
import type { Clock } from '../../base/time/clock.ts';
import { nextDay, nextMonth } from '../../base/time/utc-days.ts';
import { dollars } from '../../turn/costs/nanos.ts';
import type { Cost, NotReserved, OverflowBudget, Spending } from '../../turn/costs/spending.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import { type Cap, tiersOf } from '../../turn/tiers.ts';
import type { Ledger } from '../ledger.ts';
import type { LimitCounts, Reserved } from '../limits/key-limits.ts';
import { daysOf } from '../limits/key-use.ts';
import { settledAmounts } from '../usage-totals.ts';

export type CapWindow = 'day' | 'month';

/** A cap as operators see it, in US dollars. */
export interface CapState {
  /** The tier; null if the cap is for all tiers above 0 together. */
  readonly tier: number | null;
  readonly window: CapWindow;
  readonly max: number;
  /** The settled cost at all nodes. */
  readonly spent: number;
  readonly left: number;
}

export interface OverflowSpendingOptions {
  readonly limits: LimitCounts;
  readonly ledger: Pick<Ledger, 'daysOf'>;
  readonly clock: Clock;
  /** Called when a turn finds no room below a cap in a window. */
  readonly onSpent: (cap: Cap, window: CapWindow) => void;
}

/** A cap is counted like a limit of a key of its own, so that the same reservations and settlements serve both. */
export class OverflowSpending implements OverflowBudget {
  readonly #options: OverflowSpendingOptions;

  constructor(options: OverflowSpendingOptions) {
    this.#options = options;
  }

  reserve(caps: readonly Cap[], cost: Cost): Spending | NotReserved | Promise<Spending | NotReserved> {
    const estimate = { least: { tokens: 0, costNanos: cost.least }, expected: { tokens: 0, costNanos: cost.expected } };
    const reserving = caps.map((cap) => this.#options.limits.reserve(cap, () => estimate));
    const settle = (reserved: readonly (Reserved | Refusal)[]) => this.#spending(caps, reserved);
    return isSettled(reserving) ? settle(reserving) : Promise.all(reserving).then(settle);
  }

  /** The caps of a Pool, in the order of their tiers. */
  states({ id, assignments, overflow }: Pick<PoolConfig, 'id' | 'assignments' | 'overflow'>): readonly CapState[] {
    return tiersOf({ id, assignments, overflow }).caps.flatMap((cap) =>
      WINDOWS.flatMap((window) => {
        const max = cap.limits[`usd_per_${window}`];
        if (max === undefined) return [];
        const spent = dollars(this.#spent(cap, window));
        return [{ tier: cap.tier ?? null, window, max, spent, left: Math.max(0, max - spent) }];
      }),
    );
  }

  /** Whether the caps of the account's tier have budget left. */
  hasBudget(pool: PoolConfig, account: string): boolean {
    const tiers = tiersOf(pool);
    return tiers.capsOf(tiers.tierOf(account)).every((cap) =>
      WINDOWS.every((window) => {
        const max = cap.limits[`usd_per_${window}`];
        return max === undefined || dollars(this.#spent(cap, window)) < max;
      }),
    );
  }

  /** The spending if all caps granted their reservation; otherwise nothing stays reserved. */
  #spending(caps: readonly Cap[], reserved: readonly (Reserved | Refusal)[]): Spending | NotReserved {
    const granted = reserved.filter((one): one is Reserved => !(one instanceof Refusal));
    if (granted.length < reserved.length) {
      for (const one of granted) one.settle(undefined);
      const refused = caps.flatMap((cap, i) => {
        const one = reserved[i];
        return one instanceof Refusal && one.code === 'rate_limit_exceeded' ? [{ cap, refusal: one }] : [];
      });
      for (const { cap, refusal } of refused) this.#options.onSpent(cap, this.#windowOf(cap, refusal));
      return refused.length > 0 ? 'spent' : 'unknown';
    }
    return {
      nanos: Math.max(...granted.map(({ amounts }) => amounts.costNanos)),
      settle(totals) {
        // The usage of a cap is in no Pool's totals, because it is in them already under the turn's key.
        for (const [i, one] of granted.entries()) one.settle(totals && { pool: (caps[i] as Cap).id, totals });
      },
    };
  }

  /**
   * The window that refuses: the one in which the refusal ends, or if the refusal does not state that, the one with the least budget left.
   */
  #windowOf(cap: Cap, { error }: Refusal): CapWindow {
    const { usd_per_day: day, usd_per_month: month } = cap.limits;
    if (day === undefined || month === undefined) return day === undefined ? 'month' : 'day';
    const now = this.#options.clock.now();
    const tomorrow = nextDay(now);
    if (error.resets_at !== undefined && error.resets_at * 1000 > tomorrow) return 'month';
    if (error.resets_at !== undefined && tomorrow !== nextMonth(now)) return 'day';
    return month - dollars(this.#spent(cap, 'month')) < day - dollars(this.#spent(cap, 'day')) ? 'month' : 'day';
  }

  #spent({ id }: Cap, window: CapWindow): number {
    const { ledger, clock } = this.#options;
    return ledger.daysOf(id, daysOf(window, clock.now())).reduce((sum, { totals }) => sum + settledAmounts(totals).costNanos, 0);
  }
}

const WINDOWS: readonly CapWindow[] = ['day', 'month'];

const isSettled = <T>(all: readonly (T | Promise<T>)[]): all is readonly T[] => !all.some((one) => one instanceof Promise);
