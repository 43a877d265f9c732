// Selection: one account for one attempt, by pin, by affinity or by the Pool's strategy (Q7, Q10, Q11, Q12).
import type { Admission } from '../../admission/admission.ts';
import { WaitQueue } from '../../admission/wait-queue.ts';
import type { Counters } from '../../base/process/metrics.ts';
import type { Affinity } from '../../turn/continuation.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { tiersOf } from '../../turn/tiers.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import { type AccountLoad, type AccountLoads, isAvailability } from './account-load.ts';
import { CandidateAccounts, type CandidateAccountsOptions } from './candidate-accounts.ts';
import type { Demand, Tried } from './demand.ts';
import { lackRefusal } from './lacking-accounts.ts';
import { AccountLease } from './lease.ts';
import { type Choice, type Left, preferredChoice, whyOf } from './selection-result.ts';
import type { SharedCapacity } from './shared-capacity.ts';
import { chooseInTiers, type TierChoiceOptions } from './tiers/tier-choice.ts';
import type { TierDemand } from './tiers/tier-demand.ts';

export interface SelectionOptions extends CandidateAccountsOptions {
  readonly counters: Counters;
  readonly admission: Admission;
  readonly upstream: (account: string) => Upstream | undefined;
  /** Present if several nodes share the capacity of the accounts. */
  readonly shared?: SharedCapacity | undefined;
}

/** If a turn leaves the account of its affinity because of load, the affinity does not change. */
const LOAD: ReadonlySet<Left | undefined> = new Set<Left>(['over_bound', 'at_max_concurrent']);

export class Selection {
  readonly candidates: CandidateAccounts;
  readonly #options: SelectionOptions;
  readonly #loads: AccountLoads;
  readonly #queue: WaitQueue<AccountLease>;
  readonly #inTiers: TierChoiceOptions;

  constructor(options: SelectionOptions) {
    this.#options = options;
    this.#queue = new WaitQueue(options.clock);
    this.candidates = new CandidateAccounts(options);
    this.#loads = this.candidates.loads;
    this.#inTiers = { candidates: this.candidates, counters: options.counters, lease: (demand, choice) => this.#lease(demand, choice) };
    options.health.onChange(({ account }) => this.#changed(this.#loads.get(account), 'availability'));
    options.quota.onChange((account) => {
      const load = this.#loads.get(account);
      load?.readQuota(options.quota, options.clock.now());
      this.#changed(load, 'availability');
    });
    options.shared?.onChange((account) => this.#capacityChanged(account));
  }

  /**
   * Applies the accounts of a configuration. Attempts in flight stay counted, and an account with a larger maximum serves waiting turns.
   */
  configure(accounts: readonly AccountConfig[]): void {
    const { shared } = this.#options;
    shared?.configure(accounts);
    this.#loads.configure(accounts, ({ id, max_concurrent }) => shared?.capacityOf(id) ?? max_concurrent);
    this.candidates.reset();
    this.#queue.serve(() => false);
  }

  /**
   * A lease on an account that has not been tried for this turn. The result is a promise if all such accounts are at `max_concurrent`; it
   * resolves with undefined if the client leaves first.
   * @throws Refusal if no account can take the turn, or if no more turns may wait
   */
  choose(demand: Demand, tried: Tried): AccountLease | Promise<AccountLease | undefined> {
    const asking = this.#options.shared && (this.#askFor(demand, tried) ?? this.#askForTier(demand, tried));
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

  /** Asks for a slot if the turn belongs to an account at which this node has none, so that the turn does not leave that account. */
  #askFor({ hard, soft, affinity }: Demand, tried: Tried): Promise<void> | undefined {
    const { shared } = this.#options;
    shared?.check();
    const home = hard ?? soft ?? affinity?.account;
    const load = home === undefined || tried.has(home) ? undefined : this.#loads.get(home);
    return load && load.inFlight >= load.capacity ? shared?.ask(load.id) : undefined;
  }

  /** Asks for a slot if a tier is full at this node, so that the turn does not leave that tier (AA66). */
  #askForTier(demand: Demand, tried: Tried): Promise<unknown> | undefined {
    const { shared } = this.#options;
    if (!demand.tiers?.leavesFull || demand.hard !== undefined) return undefined;
    for (const { index, closed } of this.candidates.openTiers(demand, tried)) {
      if (index.count('available', closed) > 0) return undefined;
      const full = index.candidates.filter((one) => index.availability(one) === 'at_max_concurrent' && !closed.has(one.load.id));
      const asked = full.flatMap(({ load }) => shared?.ask(load.id) ?? []);
      if (asked.length > 0) return Promise.all(asked);
    }
    return undefined;
  }

  /** Undefined if every account that could take the turn is at its `max_concurrent`. */
  #tryChoose(demand: Demand, tried: Tried): AccountLease | undefined {
    const { hard, soft } = demand;
    if (hard !== undefined) return this.#tryPinned(hard, demand, tried);
    if (demand.tiers) return chooseInTiers(demand, demand.tiers, tried, this.#inTiers);
    const index = this.candidates.indexFor(demand);
    let softPin = soft === undefined ? undefined : this.candidates.availabilityAt(soft, demand, tried);
    if (soft !== undefined && softPin === 'available') {
      const lease = this.#lease(demand, { account: soft, reason: 'soft_pin', index, tried });
      if (lease) return lease;
      softPin = 'not_a_source';
    }
    if (softPin !== undefined) this.#options.counters.add('soft_pins_left');
    for (let passed = tried; ; ) {
      const choice = preferredChoice(index, demand, passed);
      if (!choice) break;
      const lease = this.#lease(demand, { ...choice, leftSoftPin: softPin });
      if (lease) return lease;
      passed = new Set(passed).add(choice.account);
    }
    if (index.count('at_max_concurrent', tried) > 0) return undefined;
    throw this.candidates.noneFor(demand, tried);
  }

  /**
   * A turn with a hard pin never moves to another account: it waits if the account is at its maximum, and fails if the account is
   * unavailable (Q10).
   */
  #tryPinned(account: string, demand: Demand, tried: Tried): AccountLease | undefined {
    const availability = this.candidates.availabilityAt(account, demand, tried);
    if (availability === 'available') {
      const lease = this.#lease(demand, { account, reason: 'hard_pin', tried });
      if (lease) return lease;
      // If the client sends the turn again, it goes to the new address.
      throw new Refusal('no_eligible_account');
    }
    if (availability === 'at_max_concurrent') return undefined;
    this.candidates.requirePinned(demand);
    const load = this.#loads.get(account);
    const lack = demand.lacking.get(account) ?? demand.tiers?.excluded.get(account);
    if (lack) throw lackRefusal([lack], demand.turn.wire.agent);
    throw this.candidates.noneOf(load && isAvailability(availability) ? [{ load, availability }] : [], demand.scope);
  }

  /**
   * Undefined if the account was removed, or has another address than in the turn's configuration, because that address must not get the
   * old credential.
   */
  #lease(demand: Demand, choice: Choice): AccountLease | undefined {
    const { turn, scope, affinity } = demand;
    const { account: id } = choice;
    const load = this.#loads.get(id);
    const account = turn.generation.accounts.get(id);
    const upstream = this.#options.upstream(id);
    if (!load || !account || upstream?.baseUrl !== account.base_url) return undefined;
    const { health } = this.#options;
    const ticket = health.begin(id, scope, turn.generation.loaded.bearers.get(id));
    const lease = new AccountLease({
      account,
      upstream,
      why: whyOf(demand, choice),
      ticket,
      load,
      pool: turn.pool.id,
      tier: choice.index?.tier ?? tiersOf(turn.pool).tierOf(id),
      overflow: choice.overflow,
      health,
      affinity: LOAD.has(choice.leftAffinity) ? undefined : affinityFor(choice, affinity),
      onReleased: (freed) => this.#released(freed),
      learn: this.candidates.learning(demand, id),
      now: () => this.#options.clock.now(),
    });
    this.#loads.recordChange(load);
    this.#options.shared?.used(id, load.inFlight);
    return lease;
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

  #released(load: AccountLoad): void {
    this.#options.shared?.used(load.id, load.inFlight);
    this.#changed(load, 'capacity');
  }

  #capacityChanged(account: string): void {
    const load = this.#loads.get(account);
    if (!load || !this.#options.shared) return;
    load.capacity = this.#options.shared.capacityOf(account);
    this.#changed(load, 'capacity');
  }

  /** Serves waiting turns. After a change of capacity it stops when the account is at its maximum again. */
  #changed(load: AccountLoad | undefined, what: 'capacity' | 'availability'): void {
    if (!load) return;
    this.#loads.recordChange(load);
    if (this.#queue.length > 0) this.#queue.serve(() => what === 'capacity' && load.inFlight >= load.capacity);
  }
}

/** A turn above the base tier of its conversation does not move the conversation there (AA68). */
function affinityFor({ account, overflow, index, tiers }: Choice, affinity: Affinity | undefined): Pick<Affinity, 'learn'> | undefined {
  const isAbove = overflow !== undefined || (tiers !== undefined && tiers[0] !== index && affinity?.overflow === account);
  return isAbove && affinity?.overflowed ? { learn: (one) => affinity.overflowed?.(one) } : affinity;
}
