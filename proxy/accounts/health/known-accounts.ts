// The accounts with a known state of health, in their records over the rows of the store, and what follows a change of it. All other
// accounts are in the initial state.
import type { Lease } from '../../../store/store.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { CompactWay } from '../compact-paths.ts';
import { AccountHealth, type HealthRecord } from './account-health.ts';
import type { AccountStates } from './account-states.ts';
import type { ResultTime } from './circuit-breaker.ts';
import { FirstEnd } from './first-end.ts';
import { type Adopted, adoptHealth, HealthListeners, type HealthStatus, healthStatus, storedHealth } from './health-status.ts';

export interface KnownOptions {
  readonly clock: Clock;
  readonly records: {
    find(id: string): HealthRecord | undefined;
    /** Makes a record if there is none. */
    of(id: string): HealthRecord;
  };
  /** The rows, which are already loaded. */
  readonly states: AccountStates;
  /** How an account compacts now (Q27). */
  readonly compacts: (account: string) => CompactWay;
}

export class KnownAccounts {
  /** Changes whenever the set of turns that may pass could have changed. Only this class sets it. */
  version = 0;
  /** The earliest end of a phase of a breaker. */
  readonly firstEnd: FirstEnd;
  readonly listeners = new HealthListeners();
  readonly #options: KnownOptions;
  readonly #known = new Set<HealthRecord>();
  #configured: ReadonlySet<string> = new Set();

  constructor(options: KnownOptions) {
    this.#options = options;
    this.firstEnd = new FirstEnd(options.clock, () => this.endPhases());
  }

  get configured(): ReadonlySet<string> {
    return this.#configured;
  }

  /** The health of the account with its known state, or in the initial state. */
  of(record: HealthRecord): AccountHealth {
    return record.health ?? new AccountHealth(record, () => this.#options.compacts(record.id));
  }

  /** Like `of`, for a change of the state: the account becomes a known one. */
  open(record: HealthRecord): AccountHealth {
    const health = this.of(record);
    record.health = health;
    this.#known.add(record);
    return health;
  }

  /** Forgets an account that is back in the initial state. */
  settle({ record, isInitial }: AccountHealth): void {
    if (isInitial) this.forget(record);
  }

  /** @returns whether the account was known */
  forget(record: HealthRecord): boolean {
    record.health = undefined;
    return this.#known.delete(record);
  }

  all(): readonly AccountHealth[] {
    return [...this.#known].flatMap(({ health }) => health ?? []);
  }

  /** Drops removed accounts, here and in the store. @returns the records of new accounts */
  configure(ids: readonly string[]): readonly HealthRecord[] {
    const former = this.#configured;
    this.#configured = new Set(ids);
    const { records, states } = this.#options;
    for (const id of states.accounts()) if (!this.#configured.has(id)) states.drop(id);
    for (const record of this.#known) if (!this.#configured.has(record.id)) this.forget(record);
    return ids.filter((id) => !former.has(id)).map((id) => records.of(id));
  }

  /** Restores the state of an account from the rows that this process has read. */
  adopt(record: HealthRecord, time: ResultTime): Adopted & { readonly health: AccountHealth } {
    const health = this.open(record);
    const adopted = adoptHealth(this.#options.states.rows(record.id), health, time);
    this.settle(health);
    return { health, ...adopted };
  }

  /** Stores the state of an account. @param lease of the attempt that probed the account; it guards the write */
  store(health: AccountHealth, lease?: Lease): void {
    this.#options.states.putHealth(health.id, storedHealth(health), lease);
  }

  /** Stores a state that has possibly changed which turns may pass. */
  save(health: AccountHealth, changed: boolean, lease?: Lease): void {
    this.store(health, lease);
    this.settle(health);
    if (changed) this.changed(health);
  }

  changed(health: AccountHealth): void {
    this.firstEnd.include(endsOf(health));
    this.notify(health);
  }

  notify(health: AccountHealth): void {
    this.version += 1;
    this.listeners.changed(health);
  }

  /** Called when a configuration was applied. */
  reconfigured(): void {
    this.version += 1;
    this.#setTimer();
  }

  /** Ends elapsed phases. Stores nothing, because the rows have the end, and another process may have opened another cooldown. */
  endPhases(): void {
    const now = this.#options.clock.now();
    for (const health of this.all()) {
      const ended = health.breakers.all.filter(({ phaseEnd }) => phaseEnd !== undefined && phaseEnd <= now);
      if (ended.length === 0) continue;
      for (const breaker of ended) breaker.endPhase();
      this.settle(health);
      this.notify(health);
    }
    this.#setTimer();
  }

  /** All configured accounts. */
  status(): readonly HealthStatus[] {
    return [...this.#configured].map((id) => healthStatus(this.of(this.#options.records.of(id))));
  }

  #setTimer(): void {
    this.firstEnd.set(this.all().flatMap(endsOf));
  }
}

const endsOf = ({ breakers }: AccountHealth): readonly number[] => breakers.all.flatMap(({ phaseEnd }) => phaseEnd ?? []);
