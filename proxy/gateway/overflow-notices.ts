// Notifies operators when a turn begins to spend money: at the first use of a tier after an hour, and once per window when a cap is reached
// (AA72).
import type { Store } from '../../store/store.ts';
import type { Log } from '../base/process/log.ts';
import type { Clock } from '../base/time/clock.ts';
import { nextDay, nextMonth } from '../base/time/utc-days.ts';
import type { CapWindow } from '../keys/overflow/overflow-spending.ts';
import type { PoolConfig } from '../turn/settings.ts';
import { type Cap, tiersOf } from '../turn/tiers.ts';

export interface OverflowNoticesOptions {
  readonly store: Pick<Store, 'audit' | 'leases'>;
  readonly log: Log;
  readonly clock: Clock;
  /** The name of this process. */
  readonly owner: string;
  readonly pools: () => readonly PoolConfig[];
}

const HOUR_MS = 3_600_000;
/** The shortest time between two writes of a use to the lease. */
const RENEW_MS = 60_000;

/**
 * Leases record the notices that were given, for all nodes and over restarts. They are not released, and end with the hour or the window.
 */
export class OverflowNotices {
  readonly #options: OverflowNoticesOptions;
  /** When each lease was last requested, by name. */
  readonly #asked = new Map<string, number>();
  /** The leases of this process. */
  readonly #held = new Map<string, Awaited<ReturnType<Store['leases']['acquire']>>>();

  constructor(options: OverflowNoticesOptions) {
    this.#options = options;
  }

  /** Called when a turn goes to a tier above its base tier. */
  used(pool: string, tier: number): void {
    const name = `overflow/used/${pool}/${tier}`;
    if (!this.#isDue(name, RENEW_MS)) return;
    void this.#use(name).then((first) => {
      if (first) this.#notify('overflow.used', pool, [{ path: `pools[${pool}].assignments[].tier`, from: null, to: tier }], { pool, tier });
    });
  }

  /** Called when the cost of a turn does not fit into a cap in this window. */
  spent({ id, tier }: Cap, window: CapWindow): void {
    const { clock, pools } = this.#options;
    const pool = pools().find((one) => tiersOf(one).caps.some((cap) => cap.id === id));
    if (!pool) return;
    const now = clock.now();
    const end = window === 'day' ? nextDay(now) : nextMonth(now);
    const name = `overflow/spent/${id}/${window}/${end}`;
    if (!this.#isDue(name, end - now)) return;
    void this.#acquire(name, end - now).then((first) => {
      const place = tier === undefined ? 'overflow' : `overflow.tiers.${tier}`;
      const field = { path: `pools[${pool.id}].${place}.usd_per_${window}`, from: null, to: 'spent' };
      if (first)
        this.#notify('overflow.spent', pool.id, [field], {
          pool: pool.id,
          tier: tier ?? 'all',
          window,
          resets_at: new Date(end).toISOString(),
        });
    });
  }

  /** Whether the name was not requested within this time. */
  #isDue(name: string, ms: number): boolean {
    const now = this.#options.clock.now();
    const last = this.#asked.get(name);
    if (last !== undefined && now >= last && now - last < ms) return false;
    this.#asked.set(name, now);
    return true;
  }

  /** Whether this is the first use in an hour, over all nodes. */
  async #use(name: string): Promise<boolean> {
    const held = this.#held.get(name);
    const renewed = held && (await this.#options.store.leases.renew(held, HOUR_MS).catch(() => held));
    if (renewed) {
      this.#held.set(name, renewed);
      return false;
    }
    return this.#acquire(name, HOUR_MS);
  }

  /** Takes a lease. If the store does not answer, each node gives its own notice, so that none is missed. */
  async #acquire(name: string, ms: number): Promise<boolean> {
    const { store, owner } = this.#options;
    try {
      const lease = await store.leases.acquire(name, owner, ms);
      if (lease) this.#held.set(name, lease);
      return lease !== undefined;
    } catch {
      return true;
    }
  }

  #notify(
    action: 'overflow.used' | 'overflow.spent',
    pool: string,
    fields: readonly { readonly path: string; readonly from: null; readonly to: string | number }[],
    logged: Readonly<Record<string, string | number>>,
  ): void {
    const { store, log, clock } = this.#options;
    log.warn(action === 'overflow.used' ? 'overflow_used' : 'overflow_spent', logged);
    const row = { at: clock.wallTime(), actor: 'gateway', action, target: pool, pool, fields };
    void store.audit.record(row).catch(() => log.error('audit_failed', { actor: 'gateway', action }));
  }
}
