// Settled usage per key, Pool and day: in memory for those who ask, in the store for good (D5, Q18).
import type { Store } from '../../../store/store.ts';
import type { Clock } from '../catalog/clock.ts';
import { addTo, noTotals, type Totals } from './totals.ts';

export const DAY_MS = 86_400_000;

/** Today is the last of them. */
export const KEPT_DAYS = 28;

/** Midnight UTC before a moment; both in Unix milliseconds. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

/** By day. */
type Days = Map<number, Totals>;

export class Ledger {
  readonly #store: Pick<Store['usage'], 'add' | 'load'>;
  readonly #clock: Clock;
  readonly #keys = new Map<string, Days>();
  readonly #pools = new Map<string, Days>();

  constructor(store: Pick<Store['usage'], 'add' | 'load'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Reads what earlier processes settled. A store that cannot be read costs what it knew, not the start. */
  async load(): Promise<void> {
    const rows = await this.#store.load(this.#firstDay(KEPT_DAYS)).catch(() => []);
    for (const { key_id, pool, day, ...totals } of rows) this.#add(key_id, pool, day, totals);
  }

  /** One turn, at its end. */
  settle(key: string, pool: string, totals: Totals): void {
    const day = dayOf(this.#clock.now());
    this.#add(key, pool, day, totals);
    this.#store.add({ key_id: key, pool, day, ...totals });
  }

  /** Of a key over the last days, today included, in whatever Pools it was. */
  ofKey(key: string, days: number): Totals {
    return this.#sum(this.#keys.get(key), days);
  }

  /** Of all keys of a Pool, also of those that are gone. */
  ofPool(pool: string, days: number): Totals {
    return this.#sum(this.#pools.get(pool), days);
  }

  /** A key's days of the last `days` that are not empty, the oldest first. */
  daysOf(key: string, days: number): readonly (readonly [day: number, totals: Totals])[] {
    const first = this.#firstDay(days);
    return [...(this.#keys.get(key) ?? [])].filter(([day]) => day >= first).sort(([a], [b]) => a - b);
  }

  #add(key: string, pool: string, day: number, totals: Totals): void {
    this.#day(this.#keys, key, day, totals);
    this.#day(this.#pools, pool, day, totals);
  }

  #day(all: Map<string, Days>, id: string, day: number, totals: Totals): void {
    const days: Days = all.get(id) ?? new Map();
    all.set(id, days);
    const known = days.get(day);
    if (known) {
      addTo(known, totals);
      return;
    }
    const first = this.#firstDay(KEPT_DAYS);
    for (const old of days.keys()) if (old < first) days.delete(old);
    days.set(day, { ...totals });
  }

  #sum(days: Days | undefined, count: number): Totals {
    const sum = noTotals();
    if (!days) return sum;
    const first = this.#firstDay(count);
    for (const [day, totals] of days) if (day >= first) addTo(sum, totals);
    return sum;
  }

  #firstDay(days: number): number {
    return dayOf(this.#clock.now()) - (days - 1) * DAY_MS;
  }
}
