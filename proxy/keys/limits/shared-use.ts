// Converts the store's use of a key by all nodes into the form with which limits are calculated (Q19, Q34).
import type { StoredUse } from '../../../store/store.ts';
import { DAY_MS, dayOf } from '../../base/time/utc-days.ts';
import type { Ledger } from '../ledger.ts';
import { amountOf, settledAmounts } from '../usage-totals.ts';
import type { KeyUse, MinuteSum } from './key-use.ts';

const MINUTE_MS = 60_000;
/** The longest month, which includes a week. */
const DAYS = 31;

/** @param use as just read from the store @param unstored the running turns that the store does not know */
export function useOfStore({ running, minute, days }: StoredUse, now: number, unstored: number): KeyUse {
  const settled = days.map(({ day, requests, tokens, cost_nanos }) => ({ day, amounts: { requests, tokens, costNanos: cost_nanos } }));
  const since = (count: number) => settled.filter(({ day }) => day > dayOf(now) - count * DAY_MS);
  return {
    running: running.requests + unstored,
    reserved: { tokens: running.tokens, costNanos: running.cost_nanos },
    minuteRequests: new SlotSum(minute.map(({ slot, requests }) => [slot, requests])),
    minuteTokens: new SlotSum(minute.map(({ slot, tokens }) => [slot, tokens])),
    settled: (type, count) => since(count).reduce((sum, { amounts }) => sum + amountOf(type, amounts), 0),
    settledDays: since,
  };
}

/** The use that this node knows while the store cannot be read: its settled days, and the running turns that the store does not know. */
export function useOfLedger(key: string, ledger: Ledger, now: number, unstored: number): KeyUse {
  const days = ledger.daysOf(key, DAYS).map(({ day, totals }) => {
    const { requests, tokens, costNanos } = settledAmounts(totals);
    return { day, requests, tokens, cost_nanos: costNanos };
  });
  return useOfStore({ running: { requests: 0, tokens: 0, cost_nanos: 0 }, minute: [], days }, now, unstored);
}

/** Slots, oldest first, each with its amount. A slot is named by its end, and its amount counts for a minute from there. */
type Slots = readonly (readonly [slot: number, amount: number])[];

/** The sum of slots. The store returns only slots that count. */
class SlotSum implements MinuteSum {
  readonly #slots: Slots;

  constructor(slots: Slots) {
    this.#slots = slots.filter(([, amount]) => amount > 0);
  }

  sum(): number {
    return this.#slots.reduce((sum, [, amount]) => sum + amount, 0);
  }

  firstExpiry(): number | undefined {
    const [first] = this.#slots;
    return first && first[0] + MINUTE_MS;
  }

  fallsTo(max: number, now: number): number | undefined {
    let sum = this.sum();
    if (sum <= max) return now;
    for (const [slot, amount] of this.#slots) {
      sum -= amount;
      if (sum <= max) return slot + MINUTE_MS;
    }
    return undefined;
  }
}
