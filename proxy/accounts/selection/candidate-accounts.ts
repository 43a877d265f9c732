// The accounts that could take a turn, and the reasons why the others could not; a choice is made from these. Nothing here has side effects
// (Q7, Q10).
import type { Clock } from '../../base/time/clock.ts';
import { type Refusal, restartRequired } from '../../turn/errors/refusal.ts';
import type { Lack } from '../../turn/provider/lack.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import { tiersOf } from '../../turn/tiers.ts';
import type { Health } from '../health/health.ts';
import { AccountLoads, type Availability, availabilityOf, type QuotaView } from './account-load.ts';
import type { Demand, Tried } from './demand.ts';
import type { CandidateIndex } from './index/candidate-index.ts';
import { CandidateIndexes } from './index/candidate-indexes.ts';
import { lackRefusal } from './lacking-accounts.ts';
import { type Left, noCandidate, type UnavailableAccount, unavailableIn, unavailableUntil } from './selection-result.ts';
import type { Sources } from './sources.ts';
import { learns } from './strategies/strategies.ts';
import type { Learning } from './strategies/strategy.ts';
import { type OpenTier, openTiers } from './tiers/open-tiers.ts';

export interface CandidateAccountsOptions {
  readonly clock: Clock;
  readonly sources: Sources;
  readonly health: Health;
  readonly quota: QuotaView;
}

/** The state of an account for the next turn of one model. */
export interface Standing {
  readonly availability: Availability;
  /** The end of its cooldown, exhaustion or reserve if that is known; Unix milliseconds. */
  readonly until: number | undefined;
  readonly inFlight: number;
  readonly maxConcurrent: number;
  /** The remaining share of its tightest quota window, 0 to 1; undefined if it is unknown. */
  readonly quotaLeft: number | undefined;
  /**
   * The score of the Pool's strategy, of which the highest wins. Undefined while the account is not available, or outside the cohort and
   * its overflow.
   */
  readonly score: number | undefined;
}

/** What a refusal depends on. */
export type RefusedDemand = Pick<Demand, 'scope' | 'tiers'> & { readonly turn: { readonly pool: PoolConfig } };

const NONE: Tried = new Set();
const NOTHING_LACKS: Demand['lacking'] = new Map();

const FILES_GONE = 'The account that has the files of this request is not available. Upload the files again, and resend the full context.';

const ROUTABLE: ReadonlySet<Availability> = new Set<Availability>(['available', 'at_max_concurrent']);
const EXHAUSTED: ReadonlySet<Availability> = new Set<Availability>(['out_of_quota', 'reserved']);

export class CandidateAccounts {
  readonly loads = new AccountLoads();
  readonly #options: CandidateAccountsOptions;
  readonly #indexes: CandidateIndexes;

  constructor(options: CandidateAccountsOptions) {
    this.#options = options;
    this.#indexes = new CandidateIndexes({ ...options, loads: this.loads });
  }

  /** Drops what depends on the loads, because they were configured again. */
  reset(): void {
    this.#indexes.clear();
  }

  /** The refreshed index of the turn's Pool and model; with several tiers, that of the lowest tier. */
  indexFor({ turn, scope }: Demand): CandidateIndex {
    return this.#indexes.get(turn.pool, scope);
  }

  /** The refreshed indexes of all tiers, the lowest first. */
  indexesFor({ turn, scope }: Pick<Demand, 'turn' | 'scope'>): readonly CandidateIndex[] {
    const indexes = this.#indexes.all(turn.pool, scope);
    for (const index of indexes) index.refresh(this.#options.clock.now());
    return indexes;
  }

  /** The tiers that the turn may be sent to now, the lowest first. */
  openTiers(demand: Demand, tried: Tried): Iterable<OpenTier> {
    return openTiers(this.indexesFor(demand), demand, tried, this.#options.clock.now());
  }

  /** Why the turn cannot go to the account because of its tier; undefined if it can. */
  #excludedAt(account: string, demand: Demand): Lack | undefined {
    const { turn, tiers } = demand;
    if (!tiers) return undefined;
    const [lowest] = this.#indexes.all(turn.pool, demand.scope);
    return tiers.lackAt(account, { tier: tiersOf(turn.pool).tierOf(account), lowest: lowest.tier, base: undefined });
  }

  /** Whether an untried account could take the turn, now or after a wait. */
  hasAny(demand: Demand, tried: Tried): boolean {
    if (demand.hard !== undefined) return false;
    return this.#someTier(
      demand,
      tried,
      ({ index, closed }) => index.count('available', closed) + index.count('at_max_concurrent', closed) > 0,
    );
  }

  /** Whether an untried account could take the turn without a wait if the turn had no hard pin. */
  hasFreeElsewhere(demand: Demand, tried: Tried): boolean {
    return this.#someTier(demand, tried, ({ index, closed }) => index.count('available', closed) > 0);
  }

  #someTier(demand: Demand, tried: Tried, holds: (tier: Pick<OpenTier, 'index' | 'closed'>) => boolean): boolean {
    if (!demand.tiers) return holds({ index: this.indexFor(demand), closed: tried });
    for (const tier of this.openTiers(demand, tried)) if (holds(tier)) return true;
    return false;
  }

  /** @throws Refusal `continuation_requires_restart` if the account of the hard pin left the Pool or must log in again (F8.2) */
  requirePinned(demand: Demand): void {
    const restart = this.restart(demand);
    if (restart) throw restart;
  }

  /** The refusal of a turn whose hard pin cannot be kept; undefined for a turn without one, or if its account can still be used. */
  restart({ hard, turn, scope }: Demand): Refusal | undefined {
    if (hard === undefined) return undefined;
    const known = this.loads.get(hard) !== undefined && this.#options.sources.serves(turn.pool, scope, hard);
    if (known && this.#options.health.availability(hard, scope) !== 'reauth_required') return undefined;
    return restartRequired(turn.wire.agent, turn.fileOwner === hard ? FILES_GONE : undefined);
  }

  availabilityAt(account: string, demand: Demand, tried: Tried): Exclude<Left, 'over_bound' | 'lower_tier'> {
    const { turn, scope, lacking } = demand;
    const { clock, health, quota, sources } = this.#options;
    const load = this.loads.get(account);
    if (!load || !sources.serves(turn.pool, scope, account)) return 'not_a_source';
    const lack = lacking.get(account) ?? this.#excludedAt(account, demand);
    if (lack) return lack.reason;
    if (tried.has(account)) return 'tried';
    load.readQuota(quota, clock.now());
    return availabilityOf(load, health, scope);
  }

  /** The untried accounts that are out of quota. */
  exhausted(demand: Demand, tried: Tried): readonly string[] {
    return this.#unavailable(demand, tried).flatMap(({ availability, load }) => (EXHAUSTED.has(availability) ? load.id : []));
  }

  /** The untried accounts that are at their `max_concurrent`. */
  atCapacity(demand: Demand, tried: Tried): readonly string[] {
    return this.#unavailable(demand, tried).flatMap(({ availability, load }) => (availability === 'at_max_concurrent' ? load.id : []));
  }

  /** The refusal if no account could take the turn, including tried ones; undefined if one could. */
  refusal(demand: RefusedDemand): Refusal | undefined {
    const { turn, scope } = demand;
    const tiers = openTiers(this.#indexes.all(turn.pool, scope), { ...demand, lacking: NOTHING_LACKS }, NONE, this.#options.clock.now());
    const unavailable: UnavailableAccount[] = [];
    for (const { index, closed } of tiers) {
      if (index.count('available', closed) + index.count('at_max_concurrent', closed) > 0) return undefined;
      unavailable.push(...unavailableIn(index, closed));
    }
    return this.noneOf(unavailable, scope);
  }

  /** The untried accounts of the tiers that the turn may be sent to. */
  #unavailable(demand: Demand, tried: Tried): readonly UnavailableAccount[] {
    if (!demand.tiers) return unavailableIn(this.indexFor(demand), tried);
    return [...this.openTiers(demand, tried)].flatMap(({ index, closed }) => unavailableIn(index, closed));
  }

  /** The refusal of a turn for which no account is left. */
  noneFor(demand: Demand, tried: Tried): Refusal {
    const { turn, lacking, tiers, scope } = demand;
    const unavailable = this.#unavailable(demand, tried);
    const lacks = (tiers ? this.indexesFor(demand) : [this.indexFor(demand)]).flatMap((index) =>
      index.candidates.flatMap((one) =>
        ROUTABLE.has(index.availability(one)) ? (lacking.get(one.load.id) ?? tiers?.excluded.get(one.load.id) ?? []) : [],
      ),
    );
    // An account that only an operator can restore is no reason to try again later.
    const comesBack = unavailable.some(({ availability }) => availability !== 'reauth_required');
    return !comesBack && lacks.length > 0 ? lackRefusal(lacks, turn.wire.agent) : this.noneOf(unavailable, scope);
  }

  /** The refusal of a turn that none of these accounts can take. */
  noneOf(unavailable: readonly UnavailableAccount[], scope: string): Refusal {
    const { health, quota, clock } = this.#options;
    return noCandidate(unavailable, { health, quota, scope, now: clock.now() });
  }

  /** The state of an account for the next turn, for explanations; undefined for an account that is not a source of the model. */
  standing(pool: PoolConfig, scope: string, account: string): Standing | undefined {
    const { clock, health, quota, sources } = this.#options;
    const load = this.loads.get(account);
    if (!load || !sources.serves(pool, scope, account)) return undefined;
    load.readQuota(quota, clock.now());
    const index = this.#indexWith(account, pool, scope);
    const candidate = index.get(account);
    return {
      availability: availabilityOf(load, health, scope),
      until: unavailableUntil(load, { health, quota, scope, now: clock.now() }),
      inFlight: load.inFlight,
      maxConcurrent: load.capacity,
      quotaLeft: load.quota?.remaining,
      score: candidate && index.score(candidate),
    };
  }

  /** What the Pool's strategy learns from an attempt at this account; undefined if it learns nothing. */
  learning(demand: Demand, account: string): Learning | undefined {
    const { turn, scope } = demand;
    return learns(turn.pool.strategy) ? this.#indexWith(account, turn.pool, scope).learning(account, turn) : undefined;
  }

  /** The refreshed index that has the account; if none has it, that of the lowest tier. */
  #indexWith(account: string, pool: PoolConfig, scope: string): CandidateIndex {
    const indexes = this.#indexes.all(pool, scope);
    const index = indexes.find((one) => one.get(account)) ?? indexes[0];
    index.refresh(this.#options.clock.now());
    return index;
  }

  /** The number of attempts in flight at an account. @param pools counts only turns of these Pools; by default all turns */
  inFlight(account: string, pools?: readonly string[]): number {
    const load = this.loads.get(account);
    return (pools ? load?.inFlightOf.of(pools) : load?.inFlight) ?? 0;
  }
}
