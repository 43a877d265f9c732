// The ledger: settled usage by key, Pool and day. Reads use its copy in memory; the store keeps it permanently (D5, Q18).
import { addUsageSums, usageBetween } from '../../store/schema/usage-sums.ts';
import type { LoggedRequest, Store, UsageRow } from '../../store/store.ts';
import type { Clock } from '../base/time/clock.ts';
import { DAY_MS, dayOf } from '../base/time/utc-days.ts';
import { noTotals, type Totals } from './usage-totals.ts';

/** The days that totals of keys and Pools cover, including today. */
export const KEPT_DAYS = 28;

/** The days that are kept in memory, because caps count a whole month (AA69). */
const MEMORY_DAYS = 31;

/** One day of a key or of a Pool. */
interface Day {
  readonly day: number;
  readonly totals: Totals;
}

/** Days in any order, except that the day of the last addition comes last. */
type Days = Day[];

export class Ledger {
  readonly #store: Pick<Store['usage'], 'add' | 'load'>;
  readonly #clock: Clock;
  readonly #keys = new Map<string, Days>();
  readonly #pools = new Map<string, Days>();
  /**
   * Present if there are several nodes: the sums already counted for each day by key and Pool. The difference to the store is what other
   * nodes added.
   */
  readonly #counted: Map<number, Map<string, Totals>> | undefined;

  constructor(store: Pick<Store['usage'], 'add' | 'load'>, clock: Clock, { shared = false }: { readonly shared?: boolean } = {}) {
    this.#store = store;
    this.#clock = clock;
    this.#counted = shared ? new Map() : undefined;
  }

  /** Loads what earlier processes settled. A store that cannot be read does not prevent the start. */
  async load(): Promise<void> {
    const rows = await this.#store.load(this.#firstDay(MEMORY_DAYS)).catch(() => []);
    for (const { key_id, pool, day, ...totals } of rows) this.#add(key_id, pool, day, totals);
  }

  /** Takes over the settled usage of all nodes: the stored rows, plus this node's usage that is not written yet. */
  adopt(rows: readonly UsageRow[]): void {
    const first = this.#firstDay(MEMORY_DAYS);
    for (const { key_id, pool, day, ...totals } of rows) {
      if (day >= first) this.#add(key_id, pool, day, usageBetween(this.#counted?.get(day)?.get(nameOf(key_id, pool)) ?? NO_USAGE, totals));
    }
  }

  /** Adds the usage of one turn. @param of the turn's log rows */
  settle(key: string, pool: string, totals: Totals, of?: LoggedRequest): void {
    this.#store.add(this.count(key, pool, totals), of);
  }

  /** Adds the usage of one turn in memory only. @returns the row that the caller has to write to the store */
  count(key: string, pool: string, totals: Totals): UsageRow {
    const day = dayOf(this.#clock.now());
    this.#add(key, pool, day, totals);
    return { ...totals, key_id: key, pool, day };
  }

  /** The totals of a key in all Pools over the last `days`, including today. */
  ofKey(key: string, days: number): Readonly<Totals> {
    return this.#sum(this.#keys.get(key), days);
  }

  /** The totals of all keys of a Pool, including removed keys. */
  ofPool(pool: string, days: number): Readonly<Totals> {
    return this.#sum(this.#pools.get(pool), days);
  }

  /** The days with usage among the last `days` of a key, oldest first. */
  daysOf(key: string, days: number): readonly Day[] {
    const first = this.#firstDay(days);
    return (this.#keys.get(key) ?? []).filter(({ day }) => day >= first).sort((a, b) => a.day - b.day);
  }

  #add(key: string, pool: string, day: number, totals: Totals): void {
    this.#addTo(this.#keys, key, day, totals);
    this.#addTo(this.#pools, pool, day, totals);
    if (this.#counted) this.#count(this.#countedOn(day, this.#counted), nameOf(key, pool), totals);
  }

  #count(counted: Map<string, Totals>, name: string, totals: Totals): void {
    const known = counted.get(name);
    if (known) addUsageSums(known, totals);
    else counted.set(name, { ...totals });
  }

  /** The sums of a day. Removes days that are no longer needed. */
  #countedOn(day: number, days: Map<number, Map<string, Totals>>): Map<string, Totals> {
    const known = days.get(day);
    if (known) return known;
    const first = this.#firstDay(MEMORY_DAYS);
    for (const old of days.keys()) if (old < first) days.delete(old);
    const counted = new Map<string, Totals>();
    days.set(day, counted);
    return counted;
  }

  #addTo(all: Map<string, Days>, id: string, day: number, totals: Totals): void {
    const days = all.get(id);
    const last = days?.at(-1);
    if (last?.day === day) addUsageSums(last.totals, totals);
    else this.#openDay(all, id, day, totals);
  }

  /** Adds to a day. Removes days that are no longer needed. */
  #openDay(all: Map<string, Days>, id: string, day: number, totals: Totals): void {
    const first = this.#firstDay(MEMORY_DAYS);
    const days = (all.get(id) ?? []).filter((one) => one.day >= first);
    const known = days.find((one) => one.day === day);
    if (known) addUsageSums(known.totals, totals);
    all.set(id, [...days.filter((one) => one.day !== day), known ?? { day, totals: { ...totals } }]);
  }

  #sum(days: Days | undefined, count: number): Readonly<Totals> {
    if (!days) return NO_USAGE;
    const first = this.#firstDay(count);
    const last = days.at(-1);
    if (count === 1 && last?.day === first) return last.totals;
    const sum = noTotals();
    for (const { day, totals } of days) if (day >= first) addUsageSums(sum, totals);
    return sum;
  }

  #firstDay(days: number): number {
    return dayOf(this.#clock.now()) - (days - 1) * DAY_MS;
  }
}

/** A line break separates the two, because no id contains one. */
const nameOf = (key: string, pool: string): string => `${key}\n${pool}`;

const NO_USAGE: Readonly<Totals> = Object.freeze(noTotals());
