// `least_loaded`: the account with the fewest turns in flight for its weight.
import type { Strategy } from '../strategy.ts';

/** Idle accounts tie, and the weighted hash then shares them out by weight. */
export const leastLoaded = (): Strategy => ({
  score({ seat, weight }) {
    return -seat.inFlight / weight;
  },
});
