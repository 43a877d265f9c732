// Runs rounds of an attack: its cases on all lanes at the same time, until they are done or the time is over, then the invariants.
import { SeededRandom } from '../simulation/seeded-random.ts';
import type { Attack, Case } from './attack.ts';
import { runClean } from './calls/run-call.ts';
import { brokenInvariants } from './invariants.ts';
import type { Lane } from './stage/lane.ts';
import type { Stage } from './stage/stage.ts';

export interface RoundOptions {
  readonly seed: number;
  /** The time on the monotonic clock in milliseconds. */
  readonly deadline: number;
  /** The most cases. */
  readonly limit: number;
  /** The beginning of the names of the cases to run. Default: all cases. */
  readonly only: string;
}

/** Something that an attack found. */
export interface Found {
  readonly attack: string;
  readonly seed: number;
  /** Undefined for an invariant that was violated after a round. */
  readonly case: string | undefined;
  readonly message: string;
}

export interface Round {
  readonly cases: number;
  readonly found: readonly Found[];
  /** Whether every case was run. */
  readonly isComplete: boolean;
}

/** The most findings of one round. Further ones add no information. */
const MOST_FINDINGS = 20;

export async function runRound(attack: Attack, stage: Stage, { seed, deadline, limit, only }: RoundOptions): Promise<Round> {
  await measureBaseline(stage);
  const found: Found[] = [];
  const iterator = (await attack.cases(stage, new SeededRandom(seed)))[Symbol.iterator]();
  let cases = 0;
  let isComplete = false;
  /** A complete name selects only this case. */
  let isFound = false;
  const next = (): Case | undefined => {
    while (!isFound && cases < limit && performance.now() < deadline && found.length < MOST_FINDINGS) {
      const { value, done } = iterator.next();
      if (done) {
        isComplete = true;
        return undefined;
      }
      if (value.name.startsWith(only)) {
        cases += 1;
        isFound = value.name === only;
        return value;
      }
    }
    return undefined;
  };
  const work = async (lane: Lane): Promise<void> => {
    for (let one = next(); one; one = next()) {
      try {
        await one.run(lane, stage);
      } catch (thrown) {
        found.push({ attack: attack.name, seed, case: one.name, message: messageOf(thrown) });
      }
    }
  };
  await Promise.all(stage.lanes.slice(0, attack.lanes).map(work));
  for (const message of await brokenInvariants(stage, attack.allows)) found.push({ attack: attack.name, seed, case: undefined, message });
  return { cases, found, isComplete };
}

/** Measures the memory of the gateway when nothing runs, after every call was made once on every lane. */
async function measureBaseline(stage: Stage): Promise<void> {
  if (stage.baseline) return;
  const all = async (lane: Lane): Promise<void> => {
    for (const call of stage.calls) await runClean(lane, call);
  };
  const [first, ...others] = stage.lanes;
  // One call loads the modules that are loaded at their first use.
  await all(first);
  await Promise.all(others.map(all));
  stage.baseline = await stage.program.vitals();
}

export const messageOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.name === 'Finding' ? thrown.message : (thrown.stack ?? thrown.message);
};
