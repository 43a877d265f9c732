// The cases of a cross product that is too large for every run, and the seeds of random cases. `npm test` runs a sample, and the same in
// each run; `npm run test:long`, which sets POOLGATE_CASES=all, runs all, and draws a new seed. POOLGATE_SEED=7 sets the seed.
import { SeededRandom } from '../simulation/seeded-random.ts';

const SHARE = 1 / 32;

export const ALL_CASES = process.env.POOLGATE_CASES === 'all';

/** Undefined in `npm test`, unless it is set by hand. */
const SEED = process.env.POOLGATE_SEED === undefined ? undefined : Number.parseInt(process.env.POOLGATE_SEED, 10);

/** @param fixed seeds that the long tests have beside their new one; `npm test` has the first */
export function seedsOf(...fixed: readonly number[]): readonly number[] {
  if (ALL_CASES) return SEED === undefined ? fixed : [...fixed, SEED];
  return SEED === undefined ? fixed.slice(0, 1) : [SEED];
}

/** Numbers in a row, for properties that hold for each seed. A seed that is set begins another row. @param all the count in the long tests */
export function seedRow({ daily, all }: { readonly daily: number; readonly all: number }): readonly number[] {
  const first = 1 + 10_000 * (SEED ?? 0);
  return Array.from({ length: ALL_CASES ? all : daily }, (_, number) => first + number);
}

/**
 * The seeds of a row, then up to nine times as many more until the drawn cases suffice. A property needs this if some cases are no example of
 * it.
 */
export function* seedsUntil(suffices: () => boolean, row: readonly number[]): Generator<number> {
  yield* row;
  const next = (row.at(-1) ?? 0) + 1;
  for (let seed = next; seed < next + 9 * row.length && !suffices(); seed++) yield seed;
}

/** The numbers from 0 to `count`, without `count`. */
export const numbersTo = (count: number): readonly number[] => Array.from({ length: count }, (_, number) => number);

/** @param always cases that every sample contains, such as the first, the last, and those next to a boundary */
export function sampleOf<T>(cases: readonly T[], always: readonly T[] = []): readonly T[] {
  if (ALL_CASES) return cases;
  const random = new SeededRandom(SEED ?? 1);
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
