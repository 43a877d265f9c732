// Selection: one account for one attempt; by pin, by prompt-cache locality, or by the Pool's strategy (Q7, Q10, Q11, Q12).

import type { Admission, Slot } from '../../admission/admission.ts';
import { WaitQueue } from '../../admission/wait-queue.ts';
import type { Clock } from '../../clock.ts';
import type { Counters } from '../../metrics.ts';
import { restartRequired } from '../../sessions/ciphertext-moves.ts';
import { Refusal } from '../../turn/refusal.ts';
import type { Body } from '../../turn/turn.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import type { Health } from '../health/health.ts';
import { type AccountLoad, AccountLoads } from './account-load.ts';
import { type Availability, availabilityOf } from './availability.ts';
import type { CandidateIndex } from './candidate-index.ts';
import { CandidateIndexes } from './candidate-indexes.ts';
import { type Demand, type SelectedTurn, scopeOf } from './demand.ts';
import { Lease } from './lease.ts';
import { localityKeyOf } from './locality.ts';
import { type Closed, unplaced } from './no-candidate.ts';
import type { Pins } from './pin-view.ts';
import type { QuotaView } from './quota-view.ts';
import { hashOf } from './rendezvous.ts';
import { type Reason, whyOf } from './selection-reason.ts';
import type { Sources } from './sources.ts';

export interface SelectionOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly sources: Sources;
  readonly health: Health;
  readonly quota: QuotaView;
  readonly pins: Pins;
  readonly admission: Admission;
  readonly upstream: (account: string) => Upstream | undefined;
}

/** A turn that has its admission slot, and looks for an account. */
export interface Seeking {
  readonly turn: SelectedTurn;
  /** After the request rules; undefined on routes without a JSON body. */
  readonly body: Body | undefined;
  readonly slot: Pick<Slot, 'deadline'>;
  readonly onGone: Demand['onGone'];
  /** An account that the caller is bound to by itself: the live upstream socket of an anchored turn. */
  readonly bound?: string;
}

/** Accounts that this turn has been to. */
export type Tried = ReadonlySet<string>;

const NOBODY: Tried = new Set();
const SPENT: ReadonlySet<Availability> = new Set<Availability>(['out_of_quota', 'reserved']);

export class Selection {
  readonly #options: SelectionOptions;
  readonly #seats = new AccountLoads();
  readonly #rosters: CandidateIndexes;
  readonly #line: WaitQueue<Lease>;

  constructor(options: SelectionOptions) {
    this.#options = options;
    this.#line = new WaitQueue(options.clock);
    this.#rosters = new CandidateIndexes({ ...options, seats: this.#seats });
    options.health.onChange(({ account }) => this.#changed(this.#seats.of(account), 'for everybody'));
    options.quota.onChange((account) => {
      const seat = this.#seats.of(account);
      seat?.look(options.quota, options.clock.now());
      this.#changed(seat, 'for everybody');
    });
  }

  /** Takes the accounts of a configuration; what is in flight stays counted. */
  configure(accounts: Parameters<AccountLoads['configure']>[0]): void {
    this.#seats.configure(accounts);
    this.#rosters.forget();
  }

  /** Settles where a turn must and where it should go; once for all its attempts. @throws Refusal of a pin that leads unroutable */
  demand({ turn, body, slot, onGone, bound }: Seeking): Demand {
    const { pins } = this.#options;
    const hard = bound ?? pins.hard(turn, body);
    const soft = hard === undefined ? pins.soft(turn, body) : undefined;
    return { turn, scope: scopeOf(turn), hard, soft, locality: localityKeyOf(turn, body), onGone, deadline: slot.deadline };
  }

  /**
   * A lease on an account that the turn has not been to; a promise where it must wait for one with room, of undefined where its client
   * leaves meanwhile. Sets `turn.why`.
   * @throws Refusal where no account can take it
   */
  choose(demand: Demand, tried: Tried): Lease | Promise<Lease | undefined> {
    try {
      return this.#place(demand, tried) ?? this.#wait(demand, tried);
    } catch (thrown) {
      const asking = thrown instanceof Refusal && thrown.code === 'usage_limit_reached' ? this.recheck(demand, tried) : undefined;
      if (!asking) throw thrown;
      return asking.then(() => this.#place(demand, tried) ?? this.#wait(demand, tried));
    }
  }

  /**
   * Asks accounts that seem to be out of quota once more, where that is old word; undefined where nobody is to be asked (Q8). The
   * turn waits for as long as `quota` says, and no longer.
   */
  recheck(demand: Demand, tried: Tried = NOBODY): Promise<void> | undefined {
    const { quota, counters } = this.#options;
    const roster = this.#rosterOf(demand);
    const spent = roster.places.filter((place) => SPENT.has(roster.standing(place)) && !tried.has(place.seat.id));
    const asking = quota.recheck?.(demand.hard === undefined ? spent.map(({ seat }) => seat.id) : [demand.hard]);
    if (asking) counters.add('quota_rechecks');
    return asking;
  }

  /** Whether there is any account left that could take it, now or after a wait. Cheap, and changes nothing. */
  another(demand: Demand, tried: Tried): boolean {
    if (demand.hard !== undefined) return false;
    const roster = this.#rosterOf(demand);
    return roster.count('open', tried) + roster.count('at_max_concurrent', tried) > 0;
  }

  /** Why nobody can take the turn at all, whatever it has tried; undefined where somebody could. */
  refusal(demand: Demand): Refusal | undefined {
    const roster = this.#rosterOf(demand);
    if (roster.count('open') + roster.count('at_max_concurrent') > 0) return undefined;
    return this.#unplaced(
      demand,
      roster.places.map((place) => ({ seat: place.seat, standing: roster.standing(place) })),
    );
  }

  /** What is in flight at an account. */
  inFlight(account: string): number {
    return this.#seats.of(account)?.inFlight ?? 0;
  }

  /** Undefined where every account that could take it is at its `max_concurrent`. */
  #place(demand: Demand, tried: Tried): Lease | undefined {
    const { turn, hard, soft, locality } = demand;
    if (hard !== undefined) return this.#placeAt(hard, demand, tried);
    const roster = this.#rosterOf(demand);
    const left = soft === undefined ? undefined : this.#standingAt(soft, demand, tried);
    if (soft !== undefined && left === 'open') return this.#lease(demand, { chosen: soft, reason: 'soft_pin', roster, tried });
    if (left !== undefined) this.#options.counters.add('soft_pins_left');
    if (roster.count('open', tried) > 0) {
      const place = locality === undefined ? roster.best(hashOf(turn.id), tried) : roster.nearest(locality, tried);
      const reason = locality === undefined ? turn.pool.strategy : 'locality';
      if (place) return this.#lease(demand, { chosen: place.seat.id, reason, roster, tried, left });
    }
    if (roster.count('at_max_concurrent', tried) > 0) return undefined;
    const closed = roster.places
      .filter(({ seat }) => !tried.has(seat.id))
      .map((one) => ({ seat: one.seat, standing: roster.standing(one) }));
    throw this.#unplaced(demand, closed);
  }

  /** A hard pin never moves: it waits where it is full, and fails as every turn does where it is closed (Q10). */
  #placeAt(account: string, demand: Demand, tried: Tried): Lease | undefined {
    const standing = this.#standingAt(account, demand, tried);
    if (standing === 'open') return this.#lease(demand, { chosen: account, reason: 'hard_pin', tried });
    if (standing === 'at_max_concurrent') return undefined;
    const seat = this.#seats.of(account);
    // Gone from the Pool, or of no use until somebody logs in: only a new start helps (F8.2).
    if (!seat || standing === 'not_a_source' || standing === 'reauth_required') throw restartRequired(demand.turn.wire.agent);
    throw this.#unplaced(demand, standing === 'tried' ? [] : [{ seat, standing }]);
  }

  #standingAt(account: string, { turn, scope }: Demand, tried: Tried): Availability | 'tried' | 'not_a_source' {
    const seat = this.#seats.of(account);
    if (!seat || !this.#options.sources.serves(turn.pool, scope, account)) return 'not_a_source';
    if (tried.has(account)) return 'tried';
    seat.look(this.#options.quota, this.#options.clock.now());
    return availabilityOf(seat, this.#options.health, scope);
  }

  #lease({ turn, scope }: Demand, reason: Reason): Lease {
    const { chosen: id } = reason;
    const seat = this.#seats.of(id);
    const account = turn.generation.accounts.get(id);
    const upstream = this.#options.upstream(id);
    if (!seat || !account || upstream?.baseUrl !== account.base_url) throw new Refusal('no_eligible_account');
    turn.why = whyOf(turn.pool, reason);
    const { health } = this.#options;
    const visit = health.begin(id, scope, turn.generation.loaded.bearers.get(id));
    const lease = new Lease({ account, upstream, visit, seat, health, released: (freed) => this.#changed(freed, 'for one') });
    this.#seats.change(seat);
    return lease;
  }

  async #wait(demand: Demand, tried: Tried): Promise<Lease | undefined> {
    const { turn, deadline, onGone } = demand;
    const { admission, counters } = this.#options;
    const { class: name } = turn.route;
    const over = admission.waitForAccount(name);
    counters.add('account_waits');
    try {
      return await this.#line.wait({
        serve: () => this.#place(demand, tried),
        deadline,
        timeoutError: () => admission.timeoutRefusal(name),
        onGone,
      });
    } finally {
      over();
    }
  }

  /** Turns may pass differently at this account: those that wait are asked again. */
  #changed(seat: AccountLoad | undefined, whom: 'for one' | 'for everybody'): void {
    if (!seat) return;
    this.#seats.change(seat);
    if (this.#line.length === 0) return;
    this.#line.serveEach(() => whom === 'for one' && seat.inFlight >= seat.capacity);
  }

  #unplaced({ scope }: Demand, closed: readonly Closed[]): Refusal {
    const { health, quota, clock } = this.#options;
    return unplaced(closed, { health, quota, scope, now: clock.now() });
  }

  #rosterOf({ turn, scope }: Demand): CandidateIndex {
    return this.#rosters.of(turn.pool, scope);
  }
}
