// `fill_first`: the first account in configuration order, for as long as it has room.
import type { Strategy } from '../strategy.ts';

/** The others stay untouched, and so do their quota windows, until the first is full, spent or unwell. */
export const fillFirst = (): Strategy => ({
  score({ index }) {
    return -index;
  },
});
