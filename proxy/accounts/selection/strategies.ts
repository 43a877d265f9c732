// The five strategies: each scores the accounts that could take a turn, and the highest score gets it (Q7).
import type { Strategy as StrategyName } from '../../turn/settings.ts';
import type { AccountLoad } from './account-load.ts';

/** An account of one Pool for one model. */
export interface Candidate {
  readonly load: AccountLoad;
  /** In configuration order, the canonical cohort before its overflow. */
  readonly index: number;
  /** The weight of the assignment; 1 by default. */
  readonly weight: number;
}

/** Scores only candidates that are available: again after each change of the candidate, and at least once a second. */
export interface Strategy {
  /** A finite number. Ties are broken by rendezvous hash. */
  score(candidate: Candidate): number;
  /** The score weighs attempts in flight against quota, so it may keep a turn at an account over its bound (Q11). */
  readonly weighsLoad?: boolean;
  /** The strategy's choice got the turn. Not called for a turn that a pin placed. */
  chosen?(candidate: Candidate): void;
}

/** Makes one object for each Pool and model, so a strategy may keep state. */
export const STRATEGIES: Readonly<Record<StrategyName, () => Strategy>> = {
  headroom: () => ({ score: headroom, weighsLoad: true }),
  least_loaded: () => ({ score: leastLoaded }),
  rotation,
  fill_first: () => ({ score: fillFirst }),
  soonest_reset: () => ({ score: soonestReset }),
};

/** An account without evidence is scored as half full until its first reply, so it gets neither all turns nor none (Q8). */
const UNKNOWN_REMAINING = 0.5;

/**
 * Remaining quota times free concurrency. Quota differs over hours and load over seconds: the product follows quota where loads are
 * equal, and spreads a burst. An account of weight 2 is preferred until it has half as much left as the others.
 */
function headroom({ load, weight }: Candidate): number {
  const free = 1 - load.inFlight / load.capacity;
  return weight * free * (load.remaining ?? UNKNOWN_REMAINING);
}

/** Attempts in flight over weight. Idle accounts tie, and the weighted hash then distributes turns by weight. */
function leastLoaded({ load, weight }: Candidate): number {
  return -load.inFlight / weight;
}

/** Orders the first round of a rotation. Far smaller than any step of 1 / weight. */
const FIRST_ROUND_STEP = 1e-9;

/**
 * Stride scheduling in configuration order: each turn moves the account's next position by 1 / weight, and the lowest position is next.
 * An account that was unavailable continues from the current position and catches up on no turns.
 */
function rotation(): Strategy {
  const positions: number[] = [];
  let current = 0;
  const positionOf = (index: number): number => positions[index] ?? index * FIRST_ROUND_STEP;
  return {
    score({ index }) {
      return -positionOf(index);
    },
    chosen({ index, weight }) {
      current = Math.max(positionOf(index), current);
      positions[index] = current + 1 / weight;
    },
  };
}

/** The first account in configuration order. The quota windows of the others do not begin before it is full, exhausted or cooling. */
function fillFirst({ index }: Candidate): number {
  return -index;
}

/** Later than any reset: an account without evidence is scored last. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The account with the first reset, because what it has left is lost then. */
function soonestReset({ load }: Candidate): number {
  return -(load.nextReset ?? NEVER);
}
