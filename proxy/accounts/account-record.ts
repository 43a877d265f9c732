// The record of one account: what selection, health and quota keep of it while the gateway runs. A turn finds it once, when its account is
// chosen; an attempt has it in its lease.
import { PoolCounts } from '../admission/admission.ts';
import { hashOf } from '../base/bytes/rendezvous.ts';
import type { ProviderApi } from '../turn/provider/provider-api.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { Upstream } from '../upstream/upstreams.ts';
import type { AccountHealth } from './health/account-health.ts';
import type { QuotaState } from './quota/account-quota.ts';
import type { CopiedQuota } from './quota/quota-writes.ts';

/** An account as the current configuration has it. */
export interface CurrentAccount {
  readonly config: AccountConfig;
  /** Its static bearer, or the value of its credential's header. */
  readonly bearer: string | undefined;
  readonly upstream: Upstream | undefined;
  readonly provider: ProviderApi;
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

/** Each field has one owner, which alone sets it. */
export class AccountRecord {
  readonly id: string;
  readonly hash: number;
  /** A small number that no other record has, by which a list finds the account without its id. */
  readonly number: number;
  /** Set by selection, with each configuration; undefined if the account was removed. */
  current: CurrentAccount | undefined;
  /** Set by selection: `max_concurrent`; if several nodes share it, the part of this node. */
  capacity = 0;
  /** Set by selection: the attempts in flight. */
  inFlight = 0;
  /** Set by selection: the attempts in flight by Pool. */
  readonly inFlightOf = new PoolCounts();
  /** Set by selection: the quota that it read last. */
  quota: QuotaState | undefined;
  /** Set by quota; undefined if the account is not configured. */
  evidence: CopiedQuota | undefined;
  /** Set by health; undefined while the account is in the initial state. */
  health: AccountHealth | undefined;

  constructor(id: string, number: number) {
    this.id = id;
    this.hash = hashOf(id);
    this.number = number;
  }

  readQuota(at: number): void {
    this.quota = this.evidence?.stateAt(at);
  }

  /**
   * Whether the account could take a turn of the scope, or why not, by the quota that was read last. Elapsed cooldowns have to be ended
   * before.
   */
  availability(scope: string): Availability {
    const health = this.health?.availability(scope) ?? 'available';
    if (health === 'quota' || (health === 'available' && this.quota?.exhausted)) return 'out_of_quota';
    if (health !== 'available') return health;
    if (this.quota?.reserved) return 'reserved';
    return this.inFlight < this.capacity ? 'available' : 'at_max_concurrent';
  }
}

/** The log is longer than the number of changes between two uses of a busy index. An index that is further behind refreshes everything. */
const LOG_LENGTH = 512;

/**
 * The records by id, and a log of the last changes of their availability. Each index reads the log from where it stopped, so a change costs
 * the same whatever the number of models and Pools that an account serves.
 */
export class AccountRecords {
  readonly #byId = new Map<string, AccountRecord>();
  #made = 0;
  readonly #log: AccountRecord[] = [];
  #changes = 0;

  /** The number of records that were made, which is more than the number of each. */
  get made(): number {
    return this.#made;
  }

  /** The number of changes so far. */
  get changes(): number {
    return this.#changes;
  }

  find(id: string): AccountRecord | undefined {
    return this.#byId.get(id);
  }

  /** The record of an account of the current configuration. */
  configured(id: string): AccountRecord | undefined {
    const record = this.#byId.get(id);
    return record?.current && record;
  }

  /** The record of an account, which is made if there is none. */
  of(id: string): AccountRecord {
    const known = this.#byId.get(id);
    if (known) return known;
    const made = new AccountRecord(id, this.#made);
    this.#made += 1;
    this.#byId.set(id, made);
    return made;
  }

  /**
   * Applies the accounts of a configuration. The record of a removed account is kept until a configuration after the end of its turns,
   * because another one may add the account again.
   */
  configure(accounts: readonly CurrentAccount[], capacityOf: (account: AccountConfig) => number): void {
    const configured = new Set<AccountRecord>();
    for (const current of accounts) {
      const record = this.of(current.config.id);
      record.current = current;
      record.capacity = capacityOf(current.config);
      configured.add(record);
    }
    for (const record of this.#byId.values()) {
      if (configured.has(record)) continue;
      record.current = undefined;
      if (record.inFlight === 0) this.#byId.delete(record.id);
    }
  }

  recordChange(record: AccountRecord): void {
    this.#log[this.#changes % LOG_LENGTH] = record;
    this.#changes += 1;
  }

  /** The account of the change with this number, from 0. It is valid if `hasChangesSince` returns true. */
  changeAt(number: number): AccountRecord {
    return this.#log[number % LOG_LENGTH] as AccountRecord;
  }

  /** Whether the log still has all changes from this number on. */
  hasChangesSince(number: number): boolean {
    return this.#changes - number <= LOG_LENGTH;
  }
}
