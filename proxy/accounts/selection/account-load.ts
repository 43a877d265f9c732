// The load of each account for selection: attempts in flight, quota and health; and the accounts that changed since an index was refreshed.
import { PoolCounts } from '../../admission/admission.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Health } from '../health/health.ts';
import type { QuotaState } from '../quota/account-quota.ts';
import { hashOf } from './rendezvous.ts';

/** The quota that selection reads from memory, with a call after each change. Times are Unix milliseconds. */
export interface QuotaView {
  /** Undefined if nothing is known, which counts as eligible (Q8). */
  stateAt(account: string, at: number): QuotaState | undefined;
  /** The rate limits of its models; undefined if it has stated none. */
  rates?(account: string): RateView | undefined;
  /**
   * Reads the usage of the accounts with stale evidence before a turn is refused because of them; undefined if there is none to read.
   * Resolves after a short time in any case.
   */
  recheck?(accounts: readonly string[]): Promise<void> | undefined;
  /** Calls `listen` with the account after each new statement; returns the undo. */
  onChange(listen: (account: string) => void): () => void;
}

/** The rate limits of an API account (AA39). */
export interface RateView {
  /** The smallest remaining share for an exposed id, 0 to 1; undefined if it is unknown. */
  left(model: string): number | undefined;
}

export const UNKNOWN_QUOTA: QuotaView = {
  stateAt: () => undefined,
  onChange: () => () => undefined,
};

export class AccountLoad {
  readonly id: string;
  readonly hash: number;
  /** `max_concurrent`; if several nodes share it, the part of this node. */
  capacity: number;
  inFlight = 0;
  /** The attempts in flight by Pool. */
  readonly inFlightOf = new PoolCounts();
  /** The quota that was read last. */
  quota: QuotaState | undefined;
  rates: RateView | undefined;

  constructor(id: string, capacity: number) {
    this.id = id;
    this.hash = hashOf(id);
    this.capacity = capacity;
  }

  readQuota(quota: QuotaView, at: number): void {
    this.quota = quota.stateAt(this.id, at);
    this.rates = quota.rates?.(this.id);
  }
}

/** The reasons why an account cannot take a turn, in order of precedence. Rows count them for the accounts that were not chosen (Q7). */
export const AVAILABILITIES = [
  'available',
  'reauth_required',
  'cooldown',
  'probing',
  'out_of_quota',
  'reserved',
  'at_max_concurrent',
] as const;

export type Availability = (typeof AVAILABILITIES)[number];

export const isAvailability = (word: string): word is Availability => AVAILABILITIES.includes(word as Availability);

/** @param scope the exposed model id, or the scope of a route without a model */
export function availabilityOf(load: AccountLoad, health: Pick<Health, 'availability'>, scope: string): Availability {
  const availability = health.availability(load.id, scope);
  if (availability === 'quota' || (availability === 'available' && load.quota?.exhausted)) return 'out_of_quota';
  if (availability !== 'available') return availability;
  if (load.quota?.reserved) return 'reserved';
  return load.inFlight < load.capacity ? 'available' : 'at_max_concurrent';
}

/** The log is longer than the number of changes between two uses of a busy index. An index that is further behind refreshes everything. */
const LOG_LENGTH = 512;

/**
 * The loads of all accounts, and a log of the last changes. Each index reads the log from where it stopped, so a change costs the same
 * whatever the number of models and Pools that an account serves.
 */
export class AccountLoads {
  #loads = new Map<string, AccountLoad>();
  /** Accounts that a configuration removed while turns ran at them; a later configuration may add them again. */
  readonly #removed = new Map<string, AccountLoad>();
  readonly #log: AccountLoad[] = [];
  #changes = 0;

  /** The number of changes so far. */
  get changes(): number {
    return this.#changes;
  }

  configure(accounts: readonly AccountConfig[], capacityOf: (account: AccountConfig) => number): void {
    const next = new Map<string, AccountLoad>();
    for (const account of accounts) {
      const capacity = capacityOf(account);
      const load = this.#loads.get(account.id) ?? this.#removed.get(account.id) ?? new AccountLoad(account.id, capacity);
      load.capacity = capacity;
      next.set(account.id, load);
    }
    for (const load of [...this.#loads.values(), ...this.#removed.values()]) {
      if (next.has(load.id) || load.inFlight === 0) this.#removed.delete(load.id);
      else this.#removed.set(load.id, load);
    }
    this.#loads = next;
  }

  get(id: string): AccountLoad | undefined {
    return this.#loads.get(id);
  }

  recordChange(load: AccountLoad): void {
    this.#log[this.#changes % LOG_LENGTH] = load;
    this.#changes += 1;
  }

  /** The account of the change with this number, from 0. It is valid if `hasChangesSince` returns true. */
  changeAt(number: number): AccountLoad {
    return this.#log[number % LOG_LENGTH] as AccountLoad;
  }

  /** Whether the log still has all changes from this number on. */
  hasChangesSince(number: number): boolean {
    return this.#changes - number <= LOG_LENGTH;
  }
}
