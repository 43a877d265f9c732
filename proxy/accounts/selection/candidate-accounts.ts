// The accounts that could take a turn, and the reasons why the others could not: the basis of a choice, without side effects (Q7, Q10).
import type { Clock } from '../../base/time/clock.ts';
import { type Refusal, restartRequired } from '../../turn/errors/refusal.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import type { Health } from '../health/health.ts';
import { AccountLoads, type Availability, availabilityOf, type QuotaView } from './account-load.ts';
import type { CandidateIndex } from './candidate-index.ts';
import { CandidateIndexes } from './candidate-indexes.ts';
import type { Demand, Tried } from './demand.ts';
import { unavailableIn } from './index-choice.ts';
import { lackRefusal } from './lacking-accounts.ts';
import { type Left, noCandidate, type UnavailableAccount, unavailableUntil } from './selection-result.ts';
import type { Sources } from './sources.ts';
import { learns } from './strategies.ts';
import type { Learning } from './strategy.ts';

export interface CandidateAccountsOptions {
  readonly clock: Clock;
  readonly sources: Sources;
  readonly health: Health;
  readonly quota: QuotaView;
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

const NONE: Tried = new Set();

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

  /** The loads were configured again. */
  reset(): void {
    this.#indexes.clear();
  }

  /** The refreshed index of the turn's Pool and model. */
  indexFor({ turn, scope }: Demand): CandidateIndex {
    return this.#indexes.get(turn.pool, scope);
  }

  /** Whether an untried account could take the turn, now or after a wait. */
  hasAny(demand: Demand, tried: Tried): boolean {
    if (demand.hard !== undefined) return false;
    const index = this.indexFor(demand);
    return index.count('available', tried) + index.count('at_max_concurrent', tried) > 0;
  }

  /** Whether an untried account could take the turn without a wait, were it not for a hard pin. */
  hasFreeElsewhere(demand: Demand, tried: Tried): boolean {
    return this.indexFor(demand).count('available', tried) > 0;
  }

  /** @throws Refusal `continuation_requires_restart` where the account of the hard pin left the Pool or must log in again (F8.2) */
  requirePinned(demand: Demand): void {
    const restart = this.restart(demand);
    if (restart) throw restart;
  }

  /** The refusal of a turn whose hard pin cannot be kept; undefined for a turn without one, and where its account can still be asked. */
  restart({ hard, turn, scope }: Demand): Refusal | undefined {
    if (hard === undefined) return undefined;
    const known = this.loads.get(hard) !== undefined && this.#options.sources.serves(turn.pool, scope, hard);
    if (known && this.#options.health.availability(hard, scope) !== 'reauth_required') return undefined;
    return restartRequired(turn.wire.agent, turn.fileOwner === hard ? FILES_GONE : undefined);
  }

  availabilityAt(account: string, { turn, scope, lacking }: Demand, tried: Tried): Exclude<Left, 'over_bound'> {
    const { clock, health, quota, sources } = this.#options;
    const load = this.loads.get(account);
    if (!load || !sources.serves(turn.pool, scope, account)) return 'not_a_source';
    const lack = lacking.get(account);
    if (lack) return lack.reason;
    if (tried.has(account)) return 'tried';
    load.readQuota(quota, clock.now());
    return availabilityOf(load, health, scope);
  }

  /** The untried accounts that are out of quota. */
  exhausted(demand: Demand, tried: Tried): readonly string[] {
    const unavailable = unavailableIn(this.indexFor(demand), tried);
    return unavailable.filter(({ availability }) => EXHAUSTED.has(availability)).map(({ load }) => load.id);
  }

  /** The untried accounts that are at their `max_concurrent`. */
  atCapacity(demand: Demand, tried: Tried): readonly string[] {
    const index = this.indexFor(demand);
    const full = index.candidates.filter((one) => index.availability(one) === 'at_max_concurrent' && !tried.has(one.load.id));
    return full.map(({ load }) => load.id);
  }

  /** The refusal where no account could take the turn, tried ones included; undefined where one could. */
  refusal(pool: PoolConfig, scope: string): Refusal | undefined {
    const index = this.#indexes.get(pool, scope);
    if (index.count('available') + index.count('at_max_concurrent') > 0) return undefined;
    return this.noneOf(unavailableIn(index, NONE), scope);
  }

  /** The refusal of a turn for which no account is left. */
  noneFor(demand: Demand, tried: Tried): Refusal {
    const index = this.indexFor(demand);
    const { turn, lacking, scope } = demand;
    const unavailable = unavailableIn(index, tried);
    const lacks = index.candidates.flatMap((one) => (ROUTABLE.has(index.availability(one)) ? (lacking.get(one.load.id) ?? []) : []));
    // An account that only an operator can bring back is no reason to try again later.
    const comesBack = unavailable.some(({ availability }) => availability !== 'reauth_required');
    return !comesBack && lacks.length > 0 ? lackRefusal(lacks, turn.wire.agent) : this.noneOf(unavailable, scope);
  }

  /** The refusal of a turn that none of these accounts can take. */
  noneOf(unavailable: readonly UnavailableAccount[], scope: string): Refusal {
    const { health, quota, clock } = this.#options;
    return noCandidate(unavailable, { health, quota, scope, now: clock.now() });
  }

  /** An account as the next turn would find it, for explanations; undefined for an account that is not a source of the model. */
  standing(pool: PoolConfig, scope: string, account: string): Standing | undefined {
    const { clock, health, quota, sources } = this.#options;
    const load = this.loads.get(account);
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

  /** What the Pool's strategy learns from an attempt at this account; undefined where it learns nothing. */
  learning(demand: Demand, account: string): Learning | undefined {
    return learns(demand.turn.pool.strategy) ? this.indexFor(demand).learning(account, demand.turn) : undefined;
  }

  /** The number of attempts in flight at an account. */
  /** @param pools only turns of these; all turns without */
  inFlight(account: string, pools?: readonly string[]): number {
    const load = this.loads.get(account);
    return (pools ? load?.inFlightOf.of(pools) : load?.inFlight) ?? 0;
  }
}
