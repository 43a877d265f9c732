// The accounts that could take a turn, and the reasons why the others could not: for refusals, retries and explanations. Nothing here has
// side effects (Q7, Q10).
import { type Refusal, restartRequired } from '../../turn/errors/refusal.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import type { Availability } from '../account-record.ts';
import type { Demand, Tried } from './demand.ts';
import type { CandidateIndexes, CandidateIndexesOptions } from './index/candidate-indexes.ts';
import { lackRefusal } from './lacking-accounts.ts';
import { EXHAUSTED, noCandidate, type UnavailableAccount, unavailableIn, unavailableUntil } from './selection-result.ts';
import { type OpenTier, openTiers } from './tiers/open-tiers.ts';

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

/** Whether an account of the tier could take the turn, now or after a wait. */
const hasRoutable = ({ index, closed }: Pick<OpenTier, 'index' | 'closed'>): boolean =>
  index.count('available', closed) + index.count('at_max_concurrent', closed) > 0;

export class CandidateAccounts {
  readonly #options: CandidateIndexesOptions;
  readonly #indexes: CandidateIndexes;

  constructor(options: CandidateIndexesOptions, indexes: CandidateIndexes) {
    this.#options = options;
    this.#indexes = indexes;
  }

  /** The tiers that the turn may be sent to now, the lowest first. */
  openTiers(demand: Demand, tried: Tried): Iterable<OpenTier> {
    return openTiers(this.#indexes.inTiers(demand), demand, tried, this.#options.clock.now());
  }

  /** Whether an untried account could take the turn, now or after a wait. */
  hasAny(demand: Demand, tried: Tried): boolean {
    if (demand.hard !== undefined) return false;
    return this.#someTier(demand, tried, hasRoutable);
  }

  /** Whether an untried account could take the turn without a wait if the turn had no hard pin. */
  hasFreeElsewhere(demand: Demand, tried: Tried): boolean {
    return this.#someTier(demand, tried, ({ index, closed }) => index.count('available', closed) > 0);
  }

  #someTier(demand: Demand, tried: Tried, holds: (tier: Pick<OpenTier, 'index' | 'closed'>) => boolean): boolean {
    if (!demand.tiers) return holds({ index: this.#indexes.of(demand), closed: tried });
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
    const { health, records, sources } = this.#options;
    const known = records.configured(hard) !== undefined && sources.serves(turn.pool, scope, hard);
    if (known && health.availability(hard, scope) !== 'reauth_required') return undefined;
    return restartRequired(turn.wire.agent, turn.fileOwner === hard ? FILES_GONE : undefined);
  }

  /** The untried accounts that are out of quota. */
  exhausted(demand: Demand, tried: Tried): readonly string[] {
    return this.#unavailable(demand, tried).flatMap(({ availability, record }) => (EXHAUSTED.has(availability) ? record.id : []));
  }

  /** The untried accounts that are at their `max_concurrent`. */
  atCapacity(demand: Demand, tried: Tried): readonly string[] {
    return this.#unavailable(demand, tried).flatMap(({ availability, record }) => (availability === 'at_max_concurrent' ? record.id : []));
  }

  /** The refusal if no account could take the turn, including tried ones; undefined if one could. */
  refusal(demand: RefusedDemand): Refusal | undefined {
    const { turn, scope } = demand;
    const tiers = openTiers(this.#indexes.all(turn.pool, scope), { ...demand, lacking: NOTHING_LACKS }, NONE, this.#options.clock.now());
    const unavailable: UnavailableAccount[] = [];
    for (const { index, closed } of tiers) {
      if (hasRoutable({ index, closed })) return undefined;
      unavailable.push(...unavailableIn(index, closed));
    }
    return this.noneOf(unavailable, scope);
  }

  /** The untried accounts of the tiers that the turn may be sent to. */
  #unavailable(demand: Demand, tried: Tried): readonly UnavailableAccount[] {
    if (!demand.tiers) return unavailableIn(this.#indexes.of(demand), tried);
    return [...this.openTiers(demand, tried)].flatMap(({ index, closed }) => unavailableIn(index, closed));
  }

  /** The refusal of a turn for which no account is left. */
  noneFor(demand: Demand, tried: Tried): Refusal {
    const { turn, lacking, tiers, scope } = demand;
    const unavailable = this.#unavailable(demand, tried);
    const lacks = (tiers ? this.#indexes.inTiers(demand) : [this.#indexes.of(demand)]).flatMap((index) =>
      index.candidates.flatMap((one) =>
        ROUTABLE.has(index.availability(one)) ? (lacking.get(one.record.id) ?? tiers?.excluded.get(one.record.id) ?? []) : [],
      ),
    );
    // An account that only an operator can restore is no reason to try again later.
    const comesBack = unavailable.some(({ availability }) => availability !== 'reauth_required');
    return !comesBack && lacks.length > 0 ? lackRefusal(lacks, turn.wire.agent) : this.noneOf(unavailable, scope);
  }

  /** The refusal of a turn that none of these accounts can take. */
  noneOf(unavailable: readonly UnavailableAccount[], scope: string): Refusal {
    return noCandidate(unavailable, { scope, now: this.#options.clock.now() });
  }

  /** The state of an account for the next turn, for explanations; undefined for an account that is not a source of the model. */
  standing(pool: PoolConfig, scope: string, account: string): Standing | undefined {
    const { clock, records, sources } = this.#options;
    const record = records.configured(account);
    if (!record || !sources.serves(pool, scope, account)) return undefined;
    const now = clock.now();
    record.readQuota(now);
    const index = this.#indexes.with(record, pool, scope);
    const candidate = index.get(record);
    return {
      availability: record.availability(scope),
      until: unavailableUntil(record, { scope, now }),
      inFlight: record.inFlight,
      maxConcurrent: record.capacity,
      quotaLeft: record.quota?.remaining,
      score: candidate && index.score(candidate),
    };
  }

  /** The number of attempts in flight at an account. @param pools counts only turns of these Pools; by default all turns */
  inFlight(account: string, pools?: readonly string[]): number {
    const record = this.#options.records.configured(account);
    return (pools ? record?.inFlightOf.of(pools) : record?.inFlight) ?? 0;
  }
}
