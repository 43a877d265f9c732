// The candidates of one Pool for one model, with availability and score in arrays, so a choice is one pass over numbers.
import { hashOf, rankOf, weightedRank } from '../../../base/bytes/rendezvous.ts';
import type { Candidates } from '../../../models/pool-model.ts';
import { type AccountRecord, type AccountRecords, AVAILABILITIES, type Availability } from '../../account-record.ts';
import type { SelectedTurn } from '../demand.ts';
import type { Candidate, Learning, Strategy } from '../strategies/strategy.ts';

export interface CandidateIndexOptions {
  /** The candidates of the index. The index is outdated if the current object is another one. */
  readonly source: Candidates;
  /** The exposed model id; the scope of a route without a model. */
  readonly model: string;
  /** The scope for which the accounts have to be available. */
  readonly scope: string;
  readonly weightOf: (account: string) => number;
  readonly records: AccountRecords;
  readonly strategy: Strategy;
}

/** All quota is read again after this time, because evidence gets old and windows reset without a statement. */
const REFRESH_MS = 1_000;
const AVAILABLE = AVAILABILITIES.indexOf('available');
const AT_MAX_CONCURRENT = AVAILABILITIES.indexOf('at_max_concurrent');
const NONE: ReadonlySet<string> = new Set();
/** The largest multiple of the mean in flight at which an account still gets the turns with affinity to it. */
const BOUND = 1.25;

/**
 * A turn scores two candidates: the one that it chooses, and the one that an earlier turn has released. A choice among a thousand accounts
 * costs 1 to 4 µs more than one among ten, less than a tenth of a turn.
 */
export class CandidateIndex {
  readonly source: Candidates;
  readonly candidates: readonly Candidate[];
  readonly #options: CandidateIndexOptions;
  /** The position of each account by the number of its record, plus one. */
  readonly #positions: Uint32Array;
  /** The number of candidates in the cohort. The overflow comes after them. */
  readonly #cohortSize: number;
  readonly #weighted: boolean;
  readonly #scores: Float64Array;
  /** Indexes of AVAILABILITIES. */
  readonly #availabilities: Uint8Array;
  readonly #inFlight: Int32Array;
  readonly #hashes: Uint32Array;
  /** The number of candidates by availability. */
  readonly #counts = new Uint32Array(AVAILABILITIES.length);
  /** Attempts in flight at the candidates that are available or at their maximum, and the sum of their weights. */
  #totalInFlight = 0;
  #totalWeight = 0;
  /** The number of changes that were read from the log. */
  #changesRead = 0;
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(options: CandidateIndexOptions) {
    const { source, records, model, weightOf } = options;
    this.#options = options;
    this.source = source;
    const recordsOf = (ids: readonly string[]): AccountRecord[] => ids.flatMap((id) => records.configured(id) ?? []);
    const cohort = recordsOf(source.preferred);
    this.#cohortSize = cohort.length;
    this.candidates = [...cohort, ...recordsOf(source.overflow)].map((record, index) => {
      return { record, model, index, weight: weightOf(record.id) };
    });
    this.#positions = new Uint32Array(records.made);
    for (const { record, index } of this.candidates) this.#positions[record.number] = index + 1;
    this.#weighted = this.candidates.some(({ weight }) => weight !== this.candidates[0]?.weight);
    const { length } = this.candidates;
    this.#scores = new Float64Array(length).fill(Number.NEGATIVE_INFINITY);
    this.#availabilities = new Uint8Array(length).fill(AT_MAX_CONCURRENT);
    this.#inFlight = new Int32Array(length);
    this.#hashes = Uint32Array.from(this.candidates, ({ record }) => record.hash);
    this.#counts[AT_MAX_CONCURRENT] = length;
    for (const { weight } of this.candidates) this.#totalWeight += weight;
  }

  /** Whether the strategy's scores weigh load themselves. */
  get weighsLoad(): boolean {
    return this.#options.strategy.weighsLoad === true;
  }

  get tier(): number {
    return this.source.tier ?? 0;
  }

  get({ number }: AccountRecord): Candidate | undefined {
    // A record that is newer than the index has no position.
    return this.candidates[(this.#positions[number] ?? 0) - 1];
  }

  find(account: string): Candidate | undefined {
    const record = this.#options.records.find(account);
    return record && this.get(record);
  }

  availability(candidate: Candidate): Availability {
    return AVAILABILITIES[this.#availabilities[candidate.index] as number] as Availability;
  }

  /** The score of the strategy, of which the highest wins; undefined while the candidate is not available. */
  score({ index }: Candidate): number | undefined {
    const score = this.#scores[index] as number;
    return score === Number.NEGATIVE_INFINITY ? undefined : score;
  }

  /** Updates the availability and the score of the changed candidates, or of all. */
  refresh(now: number): void {
    const { records } = this.#options;
    const isOld = Math.abs(now - this.#refreshedAt) >= REFRESH_MS;
    if (isOld || !records.hasChangesSince(this.#changesRead)) {
      for (const candidate of this.candidates) {
        if (isOld) candidate.record.readQuota(now);
        this.#update(candidate);
      }
      if (isOld) this.#refreshedAt = now;
    } else {
      for (let i = this.#changesRead; i < records.changes; i++) {
        const candidate = this.get(records.changeAt(i));
        if (candidate) this.#update(candidate);
      }
    }
    this.#changesRead = records.changes;
  }

  /** The choice of the strategy among the available candidates; the cohort comes before its overflow. */
  best(turn: SelectedTurn, tried: ReadonlySet<string> = NONE): Candidate | undefined {
    if (this.#options.strategy.perTurn) this.#scoreFor(turn);
    const key = hashOf(turn.id);
    const best = this.#best(key, tried, 0, this.#cohortSize) ?? this.#best(key, tried, this.#cohortSize, this.candidates.length);
    if (best && this.#options.strategy.chosen) {
      this.#options.strategy.chosen(best);
      this.#update(best);
    }
    return best;
  }

  /**
   * Whether the candidate would have more than 1.25 times the mean in flight (Q11). The turn itself counts, both in the mean and at the
   * candidate.
   */
  isOverBound({ index, weight }: Candidate): boolean {
    const bound = Math.ceil((BOUND * (this.#totalInFlight + 1) * weight) / this.#totalWeight);
    return (this.#inFlight[index] as number) + 1 > bound;
  }

  /** The number of candidates with this availability that were not tried. */
  count(availability: Availability, tried: ReadonlySet<string> = NONE): number {
    let count = this.#counts[AVAILABILITIES.indexOf(availability)] as number;
    for (const account of tried) {
      const candidate = this.find(account);
      if (candidate && this.availability(candidate) === availability) count -= 1;
    }
    return count;
  }

  /** What the strategy learns at the end of an attempt at this account; undefined if it learns nothing. */
  learning(record: AccountRecord, turn: SelectedTurn): Learning | undefined {
    const { strategy } = this.#options;
    const candidate = strategy.ended && this.get(record);
    return candidate && ((end) => strategy.ended?.({ candidate, turn, ...end }));
  }

  #scoreFor(turn: SelectedTurn): void {
    const { strategy } = this.#options;
    for (const candidate of this.candidates) {
      if (this.#availabilities[candidate.index] === AVAILABLE) this.#scores[candidate.index] = strategy.score(candidate, turn);
    }
  }

  #best(key: number, tried: ReadonlySet<string>, from: number, to: number): Candidate | undefined {
    const scores = this.#scores;
    const hashes = this.#hashes;
    let best = -1;
    let top = Number.NEGATIVE_INFINITY;
    // The rank of the best one, which is computed only if another one ties with it.
    let rank = -1;
    for (let i = from; i < to; i++) {
      const score = scores[i] as number;
      if (score < top || score === Number.NEGATIVE_INFINITY) continue;
      if (score === top) {
        if (rank < 0) rank = rankOf(key, hashes[best] as number);
        const own = rankOf(key, hashes[i] as number);
        if (this.#weighted ? !this.#outranks(own, i, rank, best) : own <= rank) continue;
        if (this.#isTried(i, tried)) continue;
        rank = own;
      } else {
        if (this.#isTried(i, tried)) continue;
        rank = -1;
        top = score;
      }
      best = i;
    }
    return this.candidates[best];
  }

  #isTried(index: number, tried: ReadonlySet<string>): boolean {
    return tried.size > 0 && tried.has((this.candidates[index] as Candidate).record.id);
  }

  #outranks(rank: number, index: number, otherRank: number, other: number): boolean {
    return (
      weightedRank(rank, (this.candidates[index] as Candidate).weight) >
      weightedRank(otherRank, (this.candidates[other] as Candidate).weight)
    );
  }

  #update(candidate: Candidate): void {
    const { index, record, weight } = candidate;
    const before = this.#availabilities[index] as number;
    if (before === AVAILABLE || before === AT_MAX_CONCURRENT) {
      this.#totalInFlight -= this.#inFlight[index] as number;
      this.#totalWeight -= weight;
    }
    const now = AVAILABILITIES.indexOf(record.availability(this.#options.scope));
    if (now === AVAILABLE || now === AT_MAX_CONCURRENT) {
      this.#totalInFlight += record.inFlight;
      this.#totalWeight += weight;
    }
    this.#inFlight[index] = record.inFlight;
    if (now !== before) {
      this.#counts[before] = (this.#counts[before] as number) - 1;
      this.#counts[now] = (this.#counts[now] as number) + 1;
      this.#availabilities[index] = now;
    }
    this.#scores[index] = now === AVAILABLE ? this.#options.strategy.score(candidate, undefined) : Number.NEGATIVE_INFINITY;
  }
}
