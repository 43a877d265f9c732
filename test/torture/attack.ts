// An attack is a list of cases in an order that its seed decides. Each case runs on a lane of the stage.
import type { SeededRandom } from '../simulation/seeded-random.ts';
import type { Lane } from './stage/lane.ts';
import type { Stage, StageName } from './stage/stage.ts';

export interface Case {
  /** The name of the case for `--only ATTACK/CASE`. Equal seeds have cases with equal names. */
  readonly name: string;
  /** @throws Finding, or any other error, which counts as a finding too */
  run(lane: Lane, stage: Stage): Promise<void>;
}

export interface Attack {
  /** The name of the attack for `--only`. */
  readonly name: string;
  readonly title: string;
  /** The stage of the attack. Attacks of one stage share a gateway. */
  readonly stage: StageName;
  /** The number of lanes that it uses at the same time: 1 if its cases change the whole gateway. Default: all lanes. */
  readonly lanes?: number;
  /** Whether its cases are the same for every seed, so that one round is enough. */
  readonly once?: boolean;
  /** The number of cases in the short run of `npm test`. */
  readonly sample: number;
  readonly allows?: Allowances;
  cases(stage: Stage, random: SeededRandom): Promise<Iterable<Case>>;
}

/** Effects of a round that are not findings. */
export interface Allowances {
  /** Events of the log with level `error`. */
  readonly logged?: readonly string[];
  /** Whether rows and answers need not be equal, because the attack bypasses the record of answers or makes the gateway lose rows. */
  readonly unequalRows?: boolean;
}

/** The numbers below `count`, each once, in an order that the seed decides. It needs no list of them. */
export function* permutation(count: number, random: SeededRandom): Generator<number> {
  if (count === 0) return;
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
  let step = Math.floor(random.between(1, count));
  while (gcd(step, count) !== 1) step += 1;
  let at = Math.floor(random.between(0, count));
  for (let i = 0; i < count; i++) {
    yield at;
    at = (at + step) % count;
  }
}

/** All pairs of an item and a number below `count`, such as a fault at a byte, in an order that the seed decides. */
export function* eachAt<T>(items: readonly T[], count: number, random: SeededRandom): Generator<readonly [item: T, at: number]> {
  for (const number of permutation(items.length * count, random)) {
    yield [items[number % items.length] as T, Math.floor(number / items.length)];
  }
}

export function pick<T>(all: readonly T[], random: SeededRandom): T {
  return all[Math.floor(random.between(0, all.length))] as T;
}

/** Takes one item of each source in turn, until all sources have ended. */
export function* interleaved<T>(sources: readonly Iterable<T>[]): Generator<T> {
  let open = sources.map((source) => source[Symbol.iterator]());
  while (open.length > 0) {
    const left: Iterator<T>[] = [];
    for (const iterator of open) {
      const { value, done } = iterator.next();
      if (done) continue;
      left.push(iterator);
      yield value;
    }
    open = left;
  }
}
