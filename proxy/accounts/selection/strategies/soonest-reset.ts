// `soonest_reset`: the account whose quota starts anew first, since what it has left is lost then.
import type { Strategy } from '../strategy.ts';

/** Where nothing is known nothing expires, as far as we can tell: later than any reset. */
const NEVER = Number.MAX_SAFE_INTEGER;

export const soonestReset = (): Strategy => ({
  score({ seat }) {
    return -(seat.nextReset ?? NEVER);
  },
});
