// Runs attacks that have a stage of their own, in rounds with growing seeds, for their share of the time.
import { SeededRandom } from '../simulation/seeded-random.ts';
import type { AttackReport } from './report.ts';
import { type Found, messageOf } from './run.ts';
import type { Note } from './stage/stage.ts';

export interface OwnStage {
  readonly notes: ReadonlyMap<string, Note>;
  /** The number of turns so far. */
  readonly turns: number;
  close(): Promise<void>;
}

export interface OwnCase<Stage extends OwnStage = OwnStage> {
  /** The name of the case for `--only ATTACK/CASE`. Equal seeds have cases with equal names. */
  readonly name: string;
  /**
   * If it finds nothing, it leaves the stage ready for the next case.
   * @throws Finding, or any other error, which counts as a finding too
   */
  run(stage: Stage): Promise<void>;
}

export interface StagedAttack<Stage extends OwnStage = OwnStage> {
  /** The name of the attack for `--only`. */
  readonly name: string;
  readonly title: string;
  /** The number of cases in the short run of `npm test`. */
  readonly sample: number;
  /** @param scale `sample` for the short run */
  open(scale: 'sample' | 'whole'): Promise<Stage>;
  cases(random: SeededRandom): Iterable<OwnCase<Stage>>;
}

export interface OwnShare {
  readonly seed: number;
  /** The most cases. */
  readonly limit: number;
  /** The beginning of the names of the cases to run. */
  readonly only: string;
  /** The time on the monotonic clock. */
  readonly deadline: number;
  readonly found: (found: Found) => void;
}

/** Runs the cases. After a finding the next case gets a new stage. */
export async function attackedOnOwnStage(
  attack: StagedAttack,
  { seed, limit, only, deadline, found: tell }: OwnShare,
): Promise<AttackReport> {
  const { name, title } = attack;
  const began = performance.now();
  const found: Found[] = [];
  const scale = Number.isFinite(limit) ? 'sample' : 'whole';
  let [cases, turns] = [0, 0];
  let notes: ReadonlyMap<string, Note> = new Map();
  let stage: OwnStage | undefined;
  const close = async (): Promise<void> => {
    const { turns: own = 0, notes: last = notes } = stage ?? {};
    turns += own;
    notes = last;
    await stage?.close();
    stage = undefined;
  };
  for (const one of attack.cases(new SeededRandom(seed))) {
    if (cases >= limit || performance.now() >= deadline) break;
    if (!one.name.startsWith(only)) continue;
    cases += 1;
    try {
      stage ??= await attack.open(scale);
      await one.run(stage);
    } catch (thrown) {
      const finding = { attack: name, seed, case: one.name, message: messageOf(thrown) };
      found.push(finding);
      tell(finding);
      await close();
    }
    if (one.name === only) break;
  }
  await close();
  return { name, title, rounds: 1, cases, turns, seconds: (performance.now() - began) / 1_000, found, notes };
}
