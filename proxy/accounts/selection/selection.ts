// Selection: one account for one attempt, by pin, by affinity or by the Pool's strategy (Q7, Q10, Q11, Q12).
import type { Admission } from '../../admission/admission.ts';
import { WaitQueue } from '../../admission/wait-queue.ts';
import type { Counters } from '../../base/process/metrics.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { ProviderOf } from '../../turn/provider/provider-api.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { tiersOf } from '../../turn/tiers.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import { type AccountRecord, type CurrentAccount, isAvailability } from '../account-record.ts';
import { CandidateAccounts } from './candidate-accounts.ts';
import type { Demand, SelectedTurn, Tried } from './demand.ts';
import { CandidateIndexes, type CandidateIndexesOptions } from './index/candidate-indexes.ts';
import { lackRefusal } from './lacking-accounts.ts';
import { AccountLease } from './lease.ts';
import { type Choice, movedAffinity, preferredChoice, whyOf } from './selection-result.ts';
import { askForSlots, type SharedCapacity } from './shared-capacity.ts';
import { chooseInTiers, type TierChoiceOptions } from './tiers/tier-choice.ts';
import type { TierDemand } from './tiers/tier-demand.ts';

/** The quota of accounts, as far as it is not in their records. */
export interface QuotaView {
  /**
   * Reads the usage of the accounts with stale evidence before a turn is refused because of them; undefined if there is none to read.
   * Resolves after a short time in any case.
   */
  recheck?(accounts: readonly string[]): Promise<void> | undefined;
  /** Calls `listen` with the account after each new statement; returns the undo. */
  onChange(listen: (account: AccountRecord) => void): () => void;
}

export interface SelectionOptions extends CandidateIndexesOptions {
  readonly quota: QuotaView;
  readonly counters: Counters;
  readonly admission: Admission;
  readonly upstream: (account: string) => Upstream | undefined;
  readonly providerOf: ProviderOf;
  /** Present if several nodes share the capacity of the accounts. */
  readonly shared?: SharedCapacity | undefined;
}

/** The part of a configuration that has the static bearers of its accounts. */
type Loaded = SelectedTurn['generation']['loaded'];

const NO_BEARERS: Loaded = { bearers: new Map() };

export class Selection {
  readonly candidates: CandidateAccounts;
  readonly #options: SelectionOptions;
  readonly #indexes: CandidateIndexes;
  readonly #queue: WaitQueue<AccountLease>;
  readonly #inTiers: TierChoiceOptions;
  /** The current configuration. */
  #loaded = NO_BEARERS;

  constructor(options: SelectionOptions) {
    const { clock, counters, health, quota, records, shared } = options;
    this.#options = options;
    this.#queue = new WaitQueue(clock);
    this.#indexes = new CandidateIndexes(options);
    this.candidates = new CandidateAccounts(options, this.#indexes);
    const lease: TierChoiceOptions['lease'] = (demand, choice) => this.#lease(demand, choice);
    this.#inTiers = { candidates: this.candidates, indexes: this.#indexes, records, counters, lease };
    health.onChange(({ account }) => this.#changed(records.configured(account), 'availability'));
    quota.onChange((record) => {
      record.readQuota(clock.now());
      this.#changed(record, 'availability');
    });
    shared?.onChange((account) => this.#capacityChanged(account));
  }

  /**
   * Applies the accounts of a configuration, with their static bearers. Attempts in flight stay counted, and an account with a larger
   * maximum serves waiting turns.
   */
  configure(accounts: readonly AccountConfig[], loaded: Loaded = NO_BEARERS): void {
    const { providerOf, records, shared, upstream } = this.#options;
    shared?.configure(accounts);
    const current = accounts.map(
      (config): CurrentAccount => ({
        config,
        bearer: loaded.bearers.get(config.id),
        upstream: upstream(config.id),
        provider: providerOf(config),
      }),
    );
    records.configure(current, ({ id, max_concurrent }) => shared?.capacityOf(id) ?? max_concurrent);
    this.#loaded = loaded;
    this.#indexes.clear();
    this.#queue.serve(() => false);
  }

  /**
   * A lease on an account that has not been tried for this turn. The result is a promise if all such accounts are at `max_concurrent`; it
   * resolves with undefined if the client leaves first.
   * @throws Refusal if no account can take the turn, or if no more turns may wait
   */
  choose(demand: Demand, tried: Tried): AccountLease | Promise<AccountLease | undefined> {
    const { records, shared } = this.#options;
    const asking = shared && askForSlots(demand, tried, { shared, records, candidates: this.candidates });
    return asking ? asking.then(() => this.#choose(demand, tried)) : this.#choose(demand, tried);
  }

  #choose(demand: Demand, tried: Tried): AccountLease | Promise<AccountLease | undefined> {
    try {
      return this.#tryChoose(demand, tried) ?? this.#wait(demand, tried);
    } catch (thrown) {
      const rechecking = thrown instanceof Refusal && thrown.code === 'usage_limit_reached' ? this.recheck(demand, tried) : undefined;
      if (!rechecking) throw thrown;
      return rechecking.then(() => this.#tryChoose(demand, tried) ?? this.#wait(demand, tried));
    }
  }

  /**
   * Reads the usage of accounts that are out of quota according to stale evidence; undefined if there is none (Q8). `quota` limits the
   * wait.
   */
  recheck(demand: Demand, tried: Tried): Promise<void> | undefined {
    const { quota, counters } = this.#options;
    const rechecking = quota.recheck?.(demand.hard === undefined ? this.candidates.exhausted(demand, tried) : [demand.hard]);
    if (rechecking) counters.add('quota_rechecks');
    return rechecking;
  }

  /** Undefined if every account that could take the turn is at its `max_concurrent`. */
  #tryChoose(demand: Demand, tried: Tried): AccountLease | undefined {
    const { hard, soft } = demand;
    if (hard !== undefined) return this.#tryPinned(hard, demand, tried);
    if (demand.tiers) return chooseInTiers(demand, demand.tiers, tried, this.#inTiers);
    const index = this.#indexes.of(demand);
    const pinned = soft === undefined ? undefined : this.#options.records.configured(soft);
    let softPin = soft === undefined ? undefined : this.#indexes.availabilityAt(pinned, demand, tried);
    if (pinned && softPin === 'available') {
      const lease = this.#lease(demand, { record: pinned, reason: 'soft_pin', index, tried });
      if (lease) return lease;
      softPin = 'not_a_source';
    }
    if (softPin !== undefined) this.#options.counters.add('soft_pins_left');
    for (let passed = tried; ; ) {
      const choice = preferredChoice(index, demand, passed);
      if (!choice) break;
      const lease = this.#lease(demand, { ...choice, leftSoftPin: softPin });
      if (lease) return lease;
      passed = new Set(passed).add(choice.record.id);
    }
    if (index.count('at_max_concurrent', tried) > 0) return undefined;
    throw this.candidates.noneFor(demand, tried);
  }

  /**
   * A turn with a hard pin never moves to another account: it waits if the account is at its maximum, and fails if the account is
   * unavailable (Q10).
   */
  #tryPinned(account: string, demand: Demand, tried: Tried): AccountLease | undefined {
    const record = this.#options.records.configured(account);
    const availability = this.#indexes.availabilityAt(record, demand, tried);
    if (record && availability === 'available') {
      const lease = this.#lease(demand, { record, reason: 'hard_pin', tried });
      if (lease) return lease;
      // If the client sends the turn again, it goes to the new address.
      throw new Refusal('no_eligible_account');
    }
    if (availability === 'at_max_concurrent') return undefined;
    this.candidates.requirePinned(demand);
    const lack = demand.lacking.get(account) ?? demand.tiers?.excluded.get(account);
    if (lack) throw lackRefusal([lack], demand.turn.wire.agent);
    throw this.candidates.noneOf(record && isAvailability(availability) ? [{ record, availability }] : [], demand.scope);
  }

  /**
   * Undefined if the account was removed, or has another address than in the turn's configuration, because that address must not get the
   * old credential.
   */
  #lease(demand: Demand, choice: Choice): AccountLease | undefined {
    const { turn, scope, affinity } = demand;
    const { record } = choice;
    const { clock, health, shared } = this.#options;
    const current = this.#inConfigurationOf(turn, record);
    const upstream = current?.upstream;
    if (!current || upstream?.baseUrl !== current.config.base_url) return undefined;
    const lease = new AccountLease({
      current,
      upstream,
      why: whyOf(demand, choice),
      record,
      ticket: health.beginAt(record, scope, current.bearer),
      pool: turn.pool.id,
      tier: choice.index?.tier ?? tiersOf(turn.pool).tierOf(record.id),
      overflow: choice.overflow,
      health,
      affinity: movedAffinity(choice, affinity),
      onReleased: (freed) => this.#released(freed),
      learn: this.#indexes.learning(demand, record),
      now: () => clock.now(),
    });
    this.#options.records.recordChange(record);
    shared?.used(record.id, record.inFlight);
    return lease;
  }

  /** The account in the turn's configuration, which may be an earlier one, with the current connections. */
  #inConfigurationOf({ generation: { accounts, loaded } }: SelectedTurn, { id, current }: AccountRecord): CurrentAccount | undefined {
    if (!current || loaded === this.#loaded) return current;
    const config = accounts.get(id);
    return config && { config, bearer: loaded.bearers.get(id), upstream: current.upstream, provider: this.#options.providerOf(config) };
  }

  #wait(demand: Demand, tried: Tried): Promise<AccountLease | undefined> {
    const { turn, deadline, onGone } = demand;
    const { admission, counters, shared } = this.#options;
    const serve = (): AccountLease | undefined => this.#tryChoose(demand, tried);
    const queued = this.#queue.wait({ tenant: turn.key, ...admission.accountWait(turn.route.class), serve, deadline, onGone });
    counters.add('account_waits');
    const waiting = demand.tiers ? this.#leavingFull(queued, demand.tiers) : queued;
    if (!shared) return waiting;
    const accounts = demand.hard === undefined ? this.candidates.atCapacity(demand, tried) : [demand.hard];
    return waiting.finally(shared.wanted(accounts));
  }

  /** When the wait for a full tier is over, the turn may go to a higher one (AA66). */
  #leavingFull(waiting: Promise<AccountLease | undefined>, tiers: TierDemand): Promise<AccountLease | undefined> {
    const { clock } = this.#options;
    if (tiers.fullUntil === undefined) return waiting;
    // The wait can be over already: the turn looked at its accounts a moment ago.
    const ms = Math.max(0, tiers.fullUntil - clock.now());
    return waiting.finally(clock.after(ms, () => this.#queue.serve(() => false)));
  }

  #released(record: AccountRecord): void {
    this.#options.shared?.used(record.id, record.inFlight);
    this.#changed(record, 'capacity');
  }

  #capacityChanged(account: string): void {
    const { records, shared } = this.#options;
    const record = records.configured(account);
    if (!record || !shared) return;
    record.capacity = shared.capacityOf(account);
    this.#changed(record, 'capacity');
  }

  /** Serves waiting turns. After a change of capacity it stops when the account is at its maximum again. */
  #changed(record: AccountRecord | undefined, what: 'capacity' | 'availability'): void {
    if (!record) return;
    this.#options.records.recordChange(record);
    if (this.#queue.length > 0) this.#queue.serve(() => what === 'capacity' && record.inFlight >= record.capacity);
  }
}
