// The waiting room of a route class: the turns that wait for a slot or an account. It decides which of them is refused when it is full.
import type { Counters } from '../base/process/metrics.ts';
import type { AdmissionConfig } from '../config/config.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import type { KeyConfig } from '../turn/settings.ts';

/** The key of a waiting turn, and its Pool. Fair queueing shares slots among keys. */
export type Tenant = Pick<KeyConfig, 'id' | 'pool' | 'weight'>;

/** Ends a wait with a refusal. */
type Displace = (refusal: Refusal) => void;

interface KeyRoom {
  readonly weight: number;
  /** In order of arrival. */
  readonly turns: Displace[];
}

interface PoolRoom {
  size: number;
  readonly keys: Map<string, KeyRoom>;
}

export class WaitingRoom {
  /** The limits of the class. Only `configure` changes them. */
  limits!: AdmissionConfig;
  readonly #counters: Counters;
  /** Prepared, because refusing must be cheap. */
  #overloaded!: Refusal;
  readonly #pools = new Map<string, PoolRoom>();
  #size = 0;

  constructor(limits: AdmissionConfig, counters: Counters) {
    this.#counters = counters;
    this.configure(limits);
  }

  /** Sets the limits. A full or slow queue is expected to stay so for about the longest wait of the class. */
  configure(limits: AdmissionConfig): void {
    this.limits = limits;
    this.#overloaded = new Refusal('server_is_overloaded', { retryAfterMs: limits.wait_ms });
  }

  /** The number of turns that wait. */
  get size(): number {
    return this.#size;
  }

  sizeOf(pools: readonly string[]): number {
    return pools.reduce((sum, pool) => sum + (this.#pools.get(pool)?.size ?? 0), 0);
  }

  /** Counts a turn as waiting. @returns the undo @throws Refusal `server_is_overloaded` if there is no room for it */
  enter(tenant: Tenant, displace: Displace): () => void {
    if (this.#size >= this.limits.waiting && !this.#makeRoom(tenant)) {
      this.#counters.add('admission_full');
      throw this.#overloaded;
    }
    this.#counters.add('admission_waits');
    this.#add(tenant, displace);
    return () => this.#remove(tenant, displace);
  }

  /** Counts a wait that reached its deadline, and returns its refusal. */
  timeoutRefusal(): Refusal {
    this.#counters.add('admission_timeouts');
    return this.#overloaded;
  }

  /**
   * Displaces a turn of a Pool with more waiting turns than the newcomer's Pool, or of a key in the same Pool with more by weight. The
   * newest turn of the longest queue is displaced, because it has waited least. Places reserved per key would stay empty in a queue that is
   * too short for many keys; this way one key may use the whole queue while no other needs it.
   */
  #makeRoom(tenant: Tenant): boolean {
    const own = this.#pools.get(tenant.pool);
    const ownKey = own?.keys.get(tenant.id);
    const largest = maximum(this.#pools.values(), ({ size }) => size);
    if (!largest) return false;
    const pool = (own?.size ?? 0) + 1 < largest.size ? largest : own;
    const key = pool && maximum(pool.keys.values(), loadOf);
    if (!key) return false;
    if (pool === own && ((ownKey?.turns.length ?? 0) + 1) / tenant.weight >= loadOf(key)) return false;
    this.#counters.add('admission_displaced');
    key.turns.at(-1)?.(this.#overloaded);
    return true;
  }

  #add({ pool: poolId, id, weight }: Tenant, displace: Displace): void {
    let pool = this.#pools.get(poolId);
    if (!pool) {
      pool = { size: 0, keys: new Map() };
      this.#pools.set(poolId, pool);
    }
    const key = pool.keys.get(id);
    if (key) key.turns.push(displace);
    else pool.keys.set(id, { weight, turns: [displace] });
    pool.size += 1;
    this.#size += 1;
  }

  #remove({ pool: poolId, id }: Tenant, displace: Displace): void {
    const pool = this.#pools.get(poolId);
    const key = pool?.keys.get(id);
    const at = key?.turns.indexOf(displace) ?? -1;
    if (!pool || !key || at === -1) return;
    key.turns.splice(at, 1);
    if (key.turns.length === 0) pool.keys.delete(id);
    pool.size -= 1;
    if (pool.size === 0) this.#pools.delete(poolId);
    this.#size -= 1;
  }
}

const loadOf = ({ turns, weight }: KeyRoom): number => turns.length / weight;

function maximum<T>(all: Iterable<T>, of: (one: T) => number): T | undefined {
  let largest: T | undefined;
  for (const one of all) if (largest === undefined || of(one) > of(largest)) largest = one;
  return largest;
}
