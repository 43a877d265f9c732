// Selection: one account for one attempt, by pin, by affinity or by the Pool's strategy (Q7, Q10, Q11, Q12).
import type { Admission } from '../../admission/admission.ts';
import { WaitQueue } from '../../admission/wait-queue.ts';
import type { Counters } from '../../base/process/metrics.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import { type AccountLoad, type AccountLoads, isAvailability } from './account-load.ts';
import { CandidateAccounts, type CandidateAccountsOptions } from './candidate-accounts.ts';
import type { Demand, Tried } from './demand.ts';
import { preferredChoice } from './index-choice.ts';
import { lackRefusal } from './lacking-accounts.ts';
import { Lease } from './lease.ts';
import { type Choice, type Left, whyOf } from './selection-result.ts';
import type { SharedCapacity } from './shared-capacity.ts';

export interface SelectionOptions extends CandidateAccountsOptions {
  readonly counters: Counters;
  readonly admission: Admission;
  readonly upstream: (account: string) => Upstream | undefined;
  /** Present where several nodes share the capacity of the accounts. */
  readonly shared?: SharedCapacity | undefined;
}

/** A turn that leaves its affinity for load does not change it. */
const LOAD: ReadonlySet<Left | undefined> = new Set<Left>(['over_bound', 'at_max_concurrent']);

export class Selection {
  readonly candidates: CandidateAccounts;
  readonly #options: SelectionOptions;
  readonly #loads: AccountLoads;
  readonly #queue: WaitQueue<Lease>;

  constructor(options: SelectionOptions) {
    this.#options = options;
    this.#queue = new WaitQueue(options.clock);
    this.candidates = new CandidateAccounts(options);
    this.#loads = this.candidates.loads;
    options.health.onChange(({ account }) => this.#changed(this.#loads.get(account), 'availability'));
    options.quota.onChange((account) => {
      const load = this.#loads.get(account);
      load?.readQuota(options.quota, options.clock.now());
      this.#changed(load, 'availability');
    });
    options.shared?.onChange((account) => this.#capacityChanged(account));
  }

  /** Takes the accounts of a configuration. Attempts in flight stay counted; an account that may take more serves waiting turns. */
  configure(accounts: readonly AccountConfig[]): void {
    const { shared } = this.#options;
    shared?.configure(accounts);
    this.#loads.configure(accounts, ({ id, max_concurrent }) => shared?.capacityOf(id) ?? max_concurrent);
    this.candidates.reset();
    this.#queue.serve(() => false);
  }

  /**
   * A lease on an account that the turn was not sent to. A promise where all such accounts are at `max_concurrent`; it resolves with
   * undefined where the client leaves first.
   * @throws Refusal where no account can take the turn, or no more turns may wait
   */
  choose(demand: Demand, tried: Tried): Lease | Promise<Lease | undefined> {
    const asking = this.#options.shared && this.#askFor(demand, tried);
    return asking ? asking.then(() => this.#choose(demand, tried)) : this.#choose(demand, tried);
  }

  #choose(demand: Demand, tried: Tried): Lease | Promise<Lease | undefined> {
    try {
      return this.#tryChoose(demand, tried) ?? this.#wait(demand, tried);
    } catch (thrown) {
      const rechecking = thrown instanceof Refusal && thrown.code === 'usage_limit_reached' ? this.recheck(demand, tried) : undefined;
      if (!rechecking) throw thrown;
      return rechecking.then(() => this.#tryChoose(demand, tried) ?? this.#wait(demand, tried));
    }
  }

  /** Reads the usage of accounts that are out of quota by stale evidence; undefined where there is none (Q8). `quota` limits the wait. */
  recheck(demand: Demand, tried: Tried): Promise<void> | undefined {
    const { quota, counters } = this.#options;
    const rechecking = quota.recheck?.(demand.hard === undefined ? this.candidates.exhausted(demand, tried) : [demand.hard]);
    if (rechecking) counters.add('quota_rechecks');
    return rechecking;
  }

  /** A turn that belongs to an account does not leave it because this node has no slot there at the moment, if it can get one. */
  #askFor({ hard, soft, affinity }: Demand, tried: Tried): Promise<void> | undefined {
    const { shared } = this.#options;
    shared?.check();
    const home = hard ?? soft ?? affinity?.account;
    const load = home === undefined || tried.has(home) ? undefined : this.#loads.get(home);
    return load && load.inFlight >= load.capacity ? shared?.ask(load.id) : undefined;
  }

  /** Undefined where every account that could take the turn is at its `max_concurrent`. */
  #tryChoose(demand: Demand, tried: Tried): Lease | undefined {
    const { hard, soft } = demand;
    if (hard !== undefined) return this.#tryPinned(hard, demand, tried);
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

  /** A hard pin never moves: it waits where its account is at its maximum, and fails where the account is unavailable (Q10). */
  #tryPinned(account: string, demand: Demand, tried: Tried): Lease | undefined {
    const availability = this.candidates.availabilityAt(account, demand, tried);
    if (availability === 'available') {
      const lease = this.#lease(demand, { account, reason: 'hard_pin', tried });
      if (lease) return lease;
      // The same turn, sent again, goes to the new address.
      throw new Refusal('no_eligible_account');
    }
    if (availability === 'at_max_concurrent') return undefined;
    this.candidates.requirePinned(demand);
    const load = this.#loads.get(account);
    const lack = demand.lacking.get(account);
    if (lack) throw lackRefusal([lack], demand.turn.wire.agent);
    throw this.candidates.noneOf(load && isAvailability(availability) ? [{ load, availability }] : [], demand.scope);
  }

  /** Undefined where the account was removed or has another address since the turn's configuration: it must not get the old credential. */
  #lease(demand: Demand, choice: Choice): Lease | undefined {
    const { turn, scope, affinity } = demand;
    const { account: id } = choice;
    const load = this.#loads.get(id);
    const account = turn.generation.accounts.get(id);
    const upstream = this.#options.upstream(id);
    if (!load || !account || upstream?.baseUrl !== account.base_url) return undefined;
    const { health } = this.#options;
    const ticket = health.begin(id, scope, turn.generation.loaded.bearers.get(id));
    const lease = new Lease({
      account,
      upstream,
      why: whyOf(demand, choice),
      ticket,
      load,
      pool: turn.pool.id,
      health,
      affinity: LOAD.has(choice.leftAffinity) ? undefined : affinity,
      onReleased: (freed) => this.#released(freed),
      learn: this.candidates.learning(demand, id),
      now: () => this.#options.clock.now(),
    });
    this.#loads.recordChange(load);
    this.#options.shared?.used(id, load.inFlight);
    return lease;
  }

  #wait(demand: Demand, tried: Tried): Promise<Lease | undefined> {
    const { turn, deadline, onGone } = demand;
    const { admission, counters, shared } = this.#options;
    const serve = (): Lease | undefined => this.#tryChoose(demand, tried);
    const waiting = this.#queue.wait({ tenant: turn.key, ...admission.accountWait(turn.route.class), serve, deadline, onGone });
    counters.add('account_waits');
    if (!shared) return waiting;
    const accounts = demand.hard === undefined ? this.candidates.atCapacity(demand, tried) : [demand.hard];
    return waiting.finally(shared.wanted(accounts));
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

  /** Serves waiting turns: after a change of capacity only until the account is at its maximum again. */
  #changed(load: AccountLoad | undefined, what: 'capacity' | 'availability'): void {
    if (!load) return;
    this.#loads.recordChange(load);
    this.#queue.serve(() => what === 'capacity' && load.inFlight >= load.capacity);
  }
}
