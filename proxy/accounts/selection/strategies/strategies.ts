// The strategies by name: each scores the accounts that could take a turn, and the highest score gets it (Q7).
import type { StrategyName } from '../../../turn/settings.ts';
import { fastest } from './fastest.ts';
import type { Candidate, Strategy } from './strategy.ts';

/** Makes the strategy of one Pool and model, which is kept through reloads while the Pool has this strategy. */
export const STRATEGIES: Readonly<Record<StrategyName, () => Strategy>> = {
  headroom: () => ({ score: headroom, weighsLoad: true }),
  least_loaded: () => ({ score: leastLoaded }),
  rotation,
  fill_first: () => ({ score: fillFirst }),
  soonest_reset: () => ({ score: soonestReset }),
  fastest,
};

/** The strategies that learn from the ends of attempts. */
const LEARNING: ReadonlySet<string> = new Set(Object.entries(STRATEGIES).flatMap(([name, make]) => (make().ended ? name : [])));

export const learns = (name: StrategyName): boolean => LEARNING.has(name);

/**
 * The score of an account without evidence is that of a half-full one until its first reply, so it gets neither all turns nor none (Q8).
 */
const UNKNOWN_REMAINING = 0.5;

/**
 * Scores by remaining quota times free concurrency. Quota differs over hours and load over seconds, so the product follows quota if loads
 * are equal, and spreads a burst. An account of weight 2 is preferred until it has half as much left as the others.
 */
function headroom({ record, model, weight }: Candidate): number {
  const free = 1 - record.inFlight / record.capacity;
  return weight * free * (smallerOf(record.quota?.remaining, record.evidence?.rates?.left(model)) ?? UNKNOWN_REMAINING);
}

/** The smaller of two shares that may be unknown. */
const smallerOf = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** Scores by attempts in flight divided by weight. Idle accounts tie, and the weighted hash then distributes turns by weight. */
function leastLoaded({ record, weight }: Candidate): number {
  return -record.inFlight / weight;
}

/** Orders the first round of a rotation. It is far smaller than any step of 1 / weight. */
const FIRST_ROUND_STEP = 1e-9;

/**
 * Stride scheduling in configuration order: each turn moves the account's next position by 1 / weight, and the lowest position is next.
 * An account that was unavailable continues from the current position and catches up on no turns.
 */
function rotation(): Strategy {
  const positions = new Map<string, number>();
  let current = 0;
  const positionOf = ({ record, index }: Candidate): number => positions.get(record.id) ?? index * FIRST_ROUND_STEP;
  return {
    score(candidate) {
      return -positionOf(candidate);
    },
    chosen(candidate) {
      current = Math.max(positionOf(candidate), current);
      positions.set(candidate.record.id, current + 1 / candidate.weight);
    },
  };
}

/** The first account in configuration order. The quota windows of the others do not begin before it is full, exhausted or cooling. */
function fillFirst({ index }: Candidate): number {
  return -index;
}

/** Later than any reset, so an account without evidence is scored last. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** Prefers the account with the first reset, because its remaining quota is lost then. */
function soonestReset({ record }: Candidate): number {
  return -(record.quota?.nextReset ?? NEVER);
}
