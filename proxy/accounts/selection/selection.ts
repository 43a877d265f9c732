// Selection: one account for one attempt, by pin, by affinity or by the Pool's strategy (Q7, Q10, Q11, Q12).

import type { Admission, Slot } from '../../admission/admission.ts';
import { WaitQueue } from '../../admission/wait-queue.ts';
import type { Clock } from '../../clock.ts';
import type { Counters } from '../../metrics.ts';
import type { Continuation } from '../../turn/continuation.ts';
import { Refusal, restartRequired } from '../../turn/refusal.ts';
import type { AccountConfig, PoolConfig } from '../../turn/settings.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import type { Health } from '../health/health.ts';
import { type AccountLoad, AccountLoads, type Availability, availabilityOf, type QuotaView } from './account-load.ts';
import type { CandidateIndex } from './candidate-index.ts';
import { CandidateIndexes } from './candidate-indexes.ts';
import { type Demand, type SelectedTurn, scopeOf } from './demand.ts';
import { choiceIn, unavailableIn } from './index-choice.ts';
import { Lease } from './lease.ts';
import { type Choice, type Left, noCandidate, type UnavailableAccount, unavailableUntil, whyOf } from './selection-result.ts';
import type { SharedCapacity } from './shared-capacity.ts';
import type { Sources } from './sources.ts';

export interface SelectionOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly sources: Sources;
  readonly health: Health;
  readonly quota: QuotaView;
  readonly admission: Admission;
  readonly upstream: (account: string) => Upstream | undefined;
  /** Where several nodes share the capacity of the accounts. */
  readonly shared?: SharedCapacity | undefined;
}

/** A turn that has its admission slot and needs an account. */
export interface SelectionRequest {
  readonly turn: SelectedTurn;
  /** The accounts that its anchors, its session and its conversation name (Q10, Q11). */
  readonly continuation: Pick<Continuation, 'hard' | 'soft' | 'affinity'>;
  readonly slot: Pick<Slot, 'deadline'>;
  readonly onGone: Demand['onGone'];
}

/** An account as the next turn of one model finds it. */
export interface Standing {
  readonly availability: Availability;
  /** The end of its cooldown, exhaustion or reserve, where that is known; Unix milliseconds. */
  readonly until: number | undefined;
  readonly inFlight: number;
  readonly maxConcurrent: number;
  /** The share of its tightest quota window that is left, 0 to 1; undefined is unknown. */
  readonly quotaLeft: number | undefined;
  /** By the Pool's strategy, the highest first; undefined while it is not available, or outside the cohort and its overflow. */
  readonly score: number | undefined;
}

/** The accounts that this turn was sent to. */
export type Tried = ReadonlySet<string>;

const NONE: Tried = new Set();
const EXHAUSTED: ReadonlySet<Availability> = new Set<Availability>(['out_of_quota', 'reserved']);
/** A turn that leaves its affinity for load does not change it. */
const LOAD: ReadonlySet<Left | undefined> = new Set<Left>(['over_bound', 'at_max_concurrent']);

const FILES_GONE = 'The account that has the files of this request is not available. Upload the files again, and resend the full context.';

export class Selection {
  readonly #options: SelectionOptions;
  readonly #loads = new AccountLoads();
  readonly #indexes: CandidateIndexes;
  readonly #queue: WaitQueue<Lease>;

  constructor(options: SelectionOptions) {
    this.#options = options;
    this.#queue = new WaitQueue(options.clock);
    this.#indexes = new CandidateIndexes({ ...options, loads: this.#loads });
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
    this.#indexes.clear();
    this.#queue.serve(() => false);
  }

  /** The demand of a turn, for all its attempts. A hard pin leaves no room for a soft one. */
  demand({ turn, continuation: { hard, soft, affinity }, slot, onGone }: SelectionRequest): Demand {
    return { turn, scope: scopeOf(turn), hard, soft: hard === undefined ? soft : undefined, affinity, onGone, deadline: slot.deadline };
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
  recheck(demand: Demand, tried: Tried = NONE): Promise<void> | undefined {
    const { quota, counters } = this.#options;
    const rechecking = quota.recheck?.(demand.hard === undefined ? this.#exhausted(demand, tried) : [demand.hard]);
    if (rechecking) counters.add('quota_rechecks');
    return rechecking;
  }

  /** Whether an untried account could take the turn, now or after a wait. Cheap and without side effects. */
  hasCandidate(demand: Demand, tried: Tried): boolean {
    if (demand.hard !== undefined) return false;
    const index = this.#indexFor(demand);
    return index.count('available', tried) + index.count('at_max_concurrent', tried) > 0;
  }

  /** Whether an untried account could take the turn without a wait, were it not for a hard pin. */
  hasFreeElsewhere(demand: Demand, tried: Tried): boolean {
    return this.#indexFor(demand).count('available', tried) > 0;
  }

  /** The refusal where no account could take the turn, tried ones included; undefined where one could. */
  refusal({ turn, scope }: Pick<Demand, 'scope'> & { readonly turn: Pick<SelectedTurn, 'pool'> }): Refusal | undefined {
    const index = this.#indexes.get(turn.pool, scope);
    if (index.count('available') + index.count('at_max_concurrent') > 0) return undefined;
    return this.#noCandidate(scope, unavailableIn(index, NONE));
  }

  /** What a next turn would find of an account, for explanations; undefined for an account that is no source of the model. */
  standing(pool: PoolConfig, scope: string, account: string): Standing | undefined {
    const { clock, health, quota, sources } = this.#options;
    const load = this.#loads.get(account);
    if (!load || !sources.serves(pool, scope, account)) return undefined;
    load.readQuota(quota, clock.now());
    const index = this.#indexes.get(pool, scope);
    const candidate = index.get(account);
    return {
      availability: availabilityOf(load, health, scope),
      until: unavailableUntil(load, { health, quota, scope, now: clock.now() }),
      inFlight: load.inFlight,
      maxConcurrent: load.capacity,
      quotaLeft: load.remaining,
      score: candidate && index.score(candidate),
    };
  }

  /** The number of attempts in flight at an account. */
  inFlight(account: string): number {
    return this.#loads.get(account)?.inFlight ?? 0;
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
    const index = this.#indexFor(demand);
    let softPin = soft === undefined ? undefined : this.#availabilityAt(soft, demand, tried);
    if (soft !== undefined && softPin === 'available') {
      const lease = this.#lease(demand, { account: soft, reason: 'soft_pin', index, tried });
      if (lease) return lease;
      softPin = 'not_a_source';
    }
    if (softPin !== undefined) this.#options.counters.add('soft_pins_left');
    for (let passed = tried; ; ) {
      const choice = choiceIn(index, demand, passed);
      if (!choice) break;
      const lease = this.#lease(demand, { ...choice, leftSoftPin: softPin });
      if (lease) return lease;
      passed = new Set(passed).add(choice.account);
    }
    if (index.count('at_max_concurrent', tried) > 0) return undefined;
    throw this.#noCandidate(demand.scope, unavailableIn(index, tried));
  }

  /** @throws Refusal `continuation_requires_restart` where the account of the hard pin left the Pool or must log in again (F8.2) */
  requirePinned({ hard, turn, scope }: Demand): void {
    if (hard === undefined) return;
    const known = this.#loads.get(hard) !== undefined && this.#options.sources.serves(turn.pool, scope, hard);
    if (!known || this.#options.health.availability(hard, scope) === 'reauth_required') throw restartRequired(turn.wire.agent);
  }

  /** A hard pin never moves: it waits where its account is at its maximum, and fails where the account is unavailable (Q10). */
  #tryPinned(account: string, demand: Demand, tried: Tried): Lease | undefined {
    const availability = this.#availabilityAt(account, demand, tried);
    if (availability === 'available') {
      const lease = this.#lease(demand, { account, reason: 'hard_pin', tried });
      if (lease) return lease;
      // The same turn, sent again, goes to the new address.
      throw new Refusal('no_eligible_account');
    }
    if (availability === 'at_max_concurrent') return undefined;
    const load = this.#loads.get(account);
    // The account left the Pool or needs another credential: the client must resend its full context (F8.2).
    if (!load || availability === 'not_a_source' || availability === 'reauth_required') {
      throw restartRequired(demand.turn.wire.agent, demand.turn.fileOwner === account ? FILES_GONE : undefined);
    }
    throw this.#noCandidate(demand.scope, availability === 'tried' ? [] : [{ load, availability }]);
  }

  #availabilityAt(account: string, { turn, scope }: Demand, tried: Tried): Exclude<Left, 'over_bound'> {
    const load = this.#loads.get(account);
    if (!load || !this.#options.sources.serves(turn.pool, scope, account)) return 'not_a_source';
    if (tried.has(account)) return 'tried';
    load.readQuota(this.#options.quota, this.#options.clock.now());
    return availabilityOf(load, this.#options.health, scope);
  }

  /** Undefined where the account was removed or has another address since the turn's configuration: it must not get the old credential. */
  #lease({ turn, scope, affinity }: Demand, choice: Choice): Lease | undefined {
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
      why: whyOf(turn.pool, choice),
      ticket,
      load,
      health,
      affinity: LOAD.has(choice.leftAffinity) ? undefined : affinity,
      onReleased: (freed) => this.#released(freed),
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
    return shared ? waiting.finally(shared.wanted(this.#atCapacity(demand, tried))) : waiting;
  }

  /** The accounts that the turn waits for. */
  #atCapacity(demand: Demand, tried: Tried): readonly string[] {
    if (demand.hard !== undefined) return [demand.hard];
    const index = this.#indexFor(demand);
    const waitsFor = index.candidates.filter((one) => index.availability(one) === 'at_max_concurrent' && !tried.has(one.load.id));
    return waitsFor.map(({ load }) => load.id);
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

  #exhausted(demand: Demand, tried: Tried): readonly string[] {
    const unavailable = unavailableIn(this.#indexFor(demand), tried);
    return unavailable.filter(({ availability }) => EXHAUSTED.has(availability)).map(({ load }) => load.id);
  }

  #noCandidate(scope: string, unavailable: readonly UnavailableAccount[]): Refusal {
    const { health, quota, clock } = this.#options;
    return noCandidate(unavailable, { health, quota, scope, now: clock.now() });
  }

  #indexFor({ turn, scope }: Demand): CandidateIndex {
    return this.#indexes.get(turn.pool, scope);
  }
}
