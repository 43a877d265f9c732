// `rotation`: one account after the other, in configuration order; one with weight 2 comes round twice as often.
import type { Strategy } from '../strategy.ts';

/** Orders the first round, and is far less than any step of 1 / weight. */
const ORDER = 1e-9;

/**
 * Stride scheduling: each turn moves an account's next appearance on by 1 / weight, and the earliest is next. One that was away
 * starts again from now: it has no turns to catch up on. Turns that a pin placed are no part of it.
 */
export const rotation = (): Strategy => {
  const appearances: number[] = [];
  let now = 0;
  const next = (index: number): number => appearances[index] ?? index * ORDER;
  return {
    score({ index }) {
      return -next(index);
    },
    chosen({ index, weight }) {
      now = Math.max(next(index), now);
      appearances[index] = now + 1 / weight;
    },
  };
};
