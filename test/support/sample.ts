// The cases of a cross product that is too large for every run. `npm test` runs a sample by seed, and `npm run test:long`, which sets
// POOLGATE_CASES=all, runs all. POOLGATE_SEED=7 draws another sample.
import { SeededRandom } from '../simulation/seeded-random.ts';

const SHARE = 1 / 32;

export const ALL_CASES = process.env.POOLGATE_CASES === 'all';

/** The numbers from 0 to `count`, without `count`. */
export const numbersTo = (count: number): readonly number[] => Array.from({ length: count }, (_, number) => number);

/** @param always cases that every sample contains, such as the first, the last, and those next to a boundary */
export function sampleOf<T>(cases: readonly T[], always: readonly T[] = []): readonly T[] {
  if (ALL_CASES) return cases;
  const random = new SeededRandom(Number.parseInt(process.env.POOLGATE_SEED ?? '1', 10));
  return cases.filter((one) => random.next() < SHARE || always.includes(one));
}

/**
 * Draws one of the ways for each case in turn, and with `test:long` all of them. For products in which most cases behave alike in all ways.
 */
export function byTurns<T>(ways: readonly T[]): () => readonly T[] {
  let turn = 0;
  return () => {
    const own = turn++ % ways.length;
    return ALL_CASES ? ways : ways.slice(own, own + 1);
  };
}
