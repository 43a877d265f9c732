// The accounts of one Pool for one model, each with its standing and its score; picks one without looking anything up.
import type { Candidates } from '../../models/pool-model.ts';
import type { AccountLoad, AccountLoads } from './account-load.ts';
import { AVAILABILITIES, type Availability } from './availability.ts';
import { rankOf, weightedRank } from './rendezvous.ts';
import type { Place, Strategy } from './strategy.ts';

export interface RosterOptions {
  /** The object itself tells a roster that is still true from one that is not. */
  readonly candidates: Candidates;
  readonly weightOf: (account: string) => number;
  readonly seats: AccountLoads;
  readonly strategy: Strategy;
  readonly availabilityOf: (seat: AccountLoad) => Availability;
  /** Looks at the seat's quota again. */
  readonly look: (seat: AccountLoad) => void;
}

/** Quota grows old by time alone, and resets pass: everything is looked at this often. */
const EVERY_MS = 1_000;
const OPEN = AVAILABILITIES.indexOf('open');
const FULL = AVAILABILITIES.indexOf('at_max_concurrent');
const NONE: ReadonlySet<string> = new Set();
/** Q11: an account over this share of the mean in flight passes a turn on. */
const BOUND = 1.25;

/**
 * A turn costs one pass over an array of numbers, and two places scored anew: the one it takes and the one that an earlier turn left.
 * So a thousand accounts cost 1 to 4 µs more than ten, which is less than a tenth of a turn.
 */
export class CandidateIndex {
  readonly candidates: Candidates;
  readonly places: readonly Place[];
  readonly #options: RosterOptions;
  readonly #byAccount: ReadonlyMap<string, Place>;
  /** How many places of the cohort there are; overflow stands behind them. */
  readonly #preferred: number;
  readonly #weighted: boolean;
  readonly #scores: Float64Array;
  readonly #standings: Uint8Array;
  readonly #inFlight: Int32Array;
  readonly #hashes: Uint32Array;
  /** Places by standing. */
  readonly #counts = new Uint32Array(AVAILABILITIES.length);
  /** Over the places that are open or merely full. */
  #load = 0;
  #weight = 0;
  #read = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RosterOptions) {
    const { candidates, seats, weightOf } = options;
    this.#options = options;
    this.candidates = candidates;
    const seated = (ids: readonly string[]): AccountLoad[] => ids.flatMap((id) => seats.of(id) ?? []);
    const preferred = seated(candidates.preferred);
    this.#preferred = preferred.length;
    this.places = [...preferred, ...seated(candidates.overflow)].map((seat, index) => ({ seat, index, weight: weightOf(seat.id) }));
    this.#byAccount = new Map(this.places.map((place) => [place.seat.id, place]));
    this.#weighted = this.places.some(({ weight }) => weight !== this.places[0]?.weight);
    const { length } = this.places;
    this.#scores = new Float64Array(length).fill(Number.NEGATIVE_INFINITY);
    this.#standings = new Uint8Array(length).fill(FULL);
    this.#inFlight = new Int32Array(length);
    this.#hashes = Uint32Array.from(this.places, ({ seat }) => seat.hash);
    this.#counts[FULL] = length;
    for (const { weight } of this.places) this.#weight += weight;
  }

  of(account: string): Place | undefined {
    return this.#byAccount.get(account);
  }

  standing(place: Place): Availability {
    return AVAILABILITIES[this.#standings[place.index] as number] as Availability;
  }

  /** Brings scores and standings up to date: with what changed since the last time, or with everything. */
  refresh(now: number): void {
    const { seats, look } = this.#options;
    const old = Math.abs(now - this.#lookedAt) >= EVERY_MS;
    if (old || !seats.remembers(this.#read)) {
      for (const place of this.places) {
        if (old) look(place.seat);
        this.#score(place);
      }
      if (old) this.#lookedAt = now;
    } else {
      for (let i = this.#read; i < seats.changed; i++) {
        const place = this.#byAccount.get(seats.changeAfter(i).id);
        if (place) this.#score(place);
      }
    }
    this.#read = seats.changed;
  }

  /** The strategy's choice among the open places; those of the cohort first. */
  best(key: number, tried: ReadonlySet<string> = NONE): Place | undefined {
    const place = this.#best(key, tried, 0, this.#preferred) ?? this.#best(key, tried, this.#preferred, this.places.length);
    if (place && this.#options.strategy.chosen) {
      this.#options.strategy.chosen(place);
      this.#score(place);
    }
    return place;
  }

  /** The first open place in the key's own order that is not over the bound (Q11); those of the cohort first. */
  nearest(key: number, tried: ReadonlySet<string> = NONE): Place | undefined {
    return this.#nearest(key, tried, 0, this.#preferred) ?? this.#nearest(key, tried, this.#preferred, this.places.length);
  }

  /** How many places that were not tried stand like this. */
  count(standing: Availability, tried: ReadonlySet<string> = NONE): number {
    let count = this.#counts[AVAILABILITIES.indexOf(standing)] as number;
    for (const account of tried) {
      const place = this.#byAccount.get(account);
      if (place && this.standing(place) === standing) count -= 1;
    }
    return count;
  }

  #best(key: number, tried: ReadonlySet<string>, from: number, to: number): Place | undefined {
    const scores = this.#scores;
    const hashes = this.#hashes;
    let found = -1;
    let top = Number.NEGATIVE_INFINITY;
    // Of the one that was found; reckoned only once another one ties with it.
    let rank = -1;
    for (let i = from; i < to; i++) {
      const score = scores[i] as number;
      if (score < top || score === Number.NEGATIVE_INFINITY) continue;
      if (score === top) {
        if (rank < 0) rank = rankOf(key, hashes[found] as number);
        const own = rankOf(key, hashes[i] as number);
        if (this.#weighted ? !this.#outranks(own, i, rank, found) : own <= rank) continue;
        if (this.#isTried(i, tried)) continue;
        rank = own;
      } else {
        if (this.#isTried(i, tried)) continue;
        rank = -1;
        top = score;
      }
      found = i;
    }
    return this.places[found];
  }

  #nearest(key: number, tried: ReadonlySet<string>, from: number, to: number): Place | undefined {
    const standings = this.#standings;
    const hashes = this.#hashes;
    let found = -1;
    let rank = -1;
    for (let i = from; i < to; i++) {
      if (standings[i] !== OPEN) continue;
      const own = rankOf(key, hashes[i] as number);
      if (this.#weighted && found >= 0 ? !this.#outranks(own, i, rank, found) : own <= rank) continue;
      if (this.#isOver(i) || this.#isTried(i, tried)) continue;
      found = i;
      rank = own;
    }
    return this.places[found];
  }

  #isTried(index: number, tried: ReadonlySet<string>): boolean {
    return tried.size > 0 && tried.has((this.places[index] as Place).seat.id);
  }

  #outranks(rank: number, index: number, other: number, than: number): boolean {
    return weightedRank(rank, (this.places[index] as Place).weight) > weightedRank(other, (this.places[than] as Place).weight);
  }

  /** The turn itself counts, in the mean and at the place: an idle Pool is no reason to pass on. */
  #isOver(index: number): boolean {
    const { weight } = this.places[index] as Place;
    const bound = Math.ceil((BOUND * (this.#load + 1) * weight) / this.#weight);
    return (this.#inFlight[index] as number) + 1 > bound;
  }

  #score(place: Place): void {
    const { index, seat, weight } = place;
    const before = this.#standings[index] as number;
    if (before === OPEN || before === FULL) {
      this.#load -= this.#inFlight[index] as number;
      this.#weight -= weight;
    }
    const now = AVAILABILITIES.indexOf(this.#options.availabilityOf(seat));
    if (now === OPEN || now === FULL) {
      this.#load += seat.inFlight;
      this.#weight += weight;
    }
    this.#inFlight[index] = seat.inFlight;
    if (now !== before) {
      this.#counts[before] = (this.#counts[before] as number) - 1;
      this.#counts[now] = (this.#counts[now] as number) + 1;
      this.#standings[index] = now;
    }
    this.#scores[index] = now === OPEN ? this.#options.strategy.score(place) : Number.NEGATIVE_INFINITY;
  }
}
