// Attacks with a stage of their own: how they are run, in rounds of growing seeds, for their share of the time.
import { SeededRandom } from '../simulation/seeded-random.ts';
import type { AttackReport } from './report.ts';
import { type Found, messageOf } from './run.ts';
import type { Note } from './stage/stage.ts';

export interface OwnStage {
  readonly notes: ReadonlyMap<string, Note>;
  /** So far. */
  readonly turns: number;
  close(): Promise<void>;
}

export interface OwnCase<Stage extends OwnStage = OwnStage> {
  /** Names it in `--only ATTACK/CASE`: equal seeds have equal names. */
  readonly name: string;
  /** Leaves the stage as the next case needs it, where it finds nothing. @throws Finding, or any other error, which is a finding too */
  run(stage: Stage): Promise<void>;
}

export interface StagedAttack<Stage extends OwnStage = OwnStage> {
  /** For `--only`. */
  readonly name: string;
  readonly title: string;
  /** How many cases the short run in `npm test` has. */
  readonly sample: number;
  /** @param scale `sample`: of that short run */
  open(scale: 'sample' | 'whole'): Promise<Stage>;
  cases(random: SeededRandom): Iterable<OwnCase<Stage>>;
}

export interface OwnShare {
  readonly seed: number;
  /** Most cases. */
  readonly limit: number;
  /** The beginning of the names of the cases that are run. */
  readonly only: string;
  /** On the monotonic clock. */
  readonly deadline: number;
  readonly found: (found: Found) => void;
}

/** After a finding the next case has a stage of its own. */
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
