// `headroom`: the account with the most quota left, weighted by how much of its concurrency is free.
import type { Strategy } from '../strategy.ts';

/**
 * What is not known is taken for half: a silent account is neither flooded nor starved, and its first answer tells (Q8).
 */
const UNKNOWN = 0.5;

/**
 * Quota levels out over hours, load within seconds: the product lets the one steer where loads are alike, and keeps a burst from
 * landing where the most is left. An account with twice the weight is used until it has half as much left as the others.
 */
export const headroom = (): Strategy => ({
  score({ seat, weight }) {
    const free = 1 - seat.inFlight / seat.capacity;
    return weight * free * (seat.remaining ?? UNKNOWN);
  },
});
