// Runs attacks one after another, in rounds with growing seeds, each for its share of the time.
import type { Attack } from './attack.ts';
import { attackedOnOwnStage, type StagedAttack } from './own-stage.ts';
import type { AttackReport } from './report.ts';
import { type Found, runRound } from './run.ts';
import { NoSmallDisk } from './stage/small-disk.ts';
import { Stage, type StageName } from './stage/stage.ts';

export interface TortureOptions {
  readonly seed: number;
  /** The time of all attacks together. */
  readonly seconds: number;
  /** The most cases of each attack. */
  readonly limit: (attack: Pick<Attack, 'sample'>) => number;
  /** `ATTACK` or `ATTACK/BEGINNING OF A CASE`. Default: all attacks. */
  readonly only?: string | undefined;
  /** Cases that run before the others of their attack, because each has found a fault before. */
  readonly fixed?: readonly FixedCase[];
  readonly found: (found: Found) => void;
}

type Attacks = readonly (Attack | StagedAttack)[];

/** A case of an attack that runs with every seed. */
export interface FixedCase {
  readonly attack: string;
  readonly case: string;
}

/** The attacks and cases that `only` selects. */
function chosen(attacks: Attacks, only = ''): { readonly attacks: Attacks; readonly cases: string } {
  const slash = only.indexOf('/');
  const [name, cases] = slash === -1 ? [only, ''] : [only.slice(0, slash), only.slice(slash + 1)];
  const matching = attacks.filter((attack) => name === '' || attack.name === name);
  if (matching.length === 0) throw new Error(`no such attack; there are: ${attacks.map((attack) => attack.name).join(' ')}`);
  return { attacks: matching, cases };
}

/** Runs the attacks. Attacks of one stage share a gateway. The unused part of an attack's time goes to the next ones. */
export async function torture(attacks: Attacks, options: TortureOptions): Promise<readonly AttackReport[]> {
  const { attacks: left, cases: only } = chosen(attacks, options.only);
  const end = performance.now() + options.seconds * 1_000;
  const reports: AttackReport[] = [];
  let open: { readonly name: StageName; readonly stage: Stage } | undefined;
  try {
    for (const [i, attack] of left.entries()) {
      const deadline = performance.now() + (end - performance.now()) / (left.length - i);
      if ('open' in attack) {
        await open?.stage.close();
        open = undefined;
        reports.push(await attackedOnOwnStage(attack, { ...options, only, deadline, limit: options.limit(attack) }));
        continue;
      }
      // A gateway with findings is not used for the next attack.
      if (open && (open.name !== attack.stage || (reports.at(-1)?.found.length ?? 0) > 0)) {
        await open.stage.close();
        open = undefined;
      }
      try {
        open ??= { name: attack.stage, stage: await Stage.open(attack.stage) };
        reports.push(await attacked(attack, open.stage, { ...options, only, deadline }));
      } catch (thrown) {
        if (!(thrown instanceof NoSmallDisk)) throw thrown;
        reports.push({ ...nothing(attack), missing: thrown.message });
      }
    }
  } finally {
    await open?.stage.close();
  }
  return reports;
}

const nothing = ({ name, title }: Attack): AttackReport => ({
  name,
  title,
  rounds: 0,
  cases: 0,
  turns: 0,
  seconds: 0,
  found: [],
  notes: new Map(),
});

interface Share extends TortureOptions {
  readonly only: string;
  /** The time on the monotonic clock. */
  readonly deadline: number;
}

async function attacked(attack: Attack, stage: Stage, share: Share): Promise<AttackReport> {
  const { seed, limit, only, deadline, fixed = [], found: tell } = share;
  const began = performance.now();
  const turnsBefore = await stage.turns();
  stage.notes.clear();
  const found: Found[] = [];
  let [rounds, cases, goesOn] = [0, 0, true];
  for (const { case: name } of fixed.filter((one) => one.attack === attack.name)) {
    const round = await runRound(attack, stage, { seed, deadline, limit: 1, only: name });
    if (round.cases === 0) throw new Error(`no case ${name} of ${attack.name}`);
    found.push(...round.found);
    for (const one of round.found) tell(one);
  }
  for (let next = seed; goesOn; next++) {
    const round = await runRound(attack, stage, { seed: next, deadline, limit: limit(attack) - cases, only });
    rounds += 1;
    cases += round.cases;
    found.push(...round.found);
    for (const one of round.found) tell(one);
    goesOn = round.isComplete && !attack.once && performance.now() < deadline && cases < limit(attack);
  }
  // If the gateway has ended, that is among the findings.
  const turns = stage.program.isRunning ? (await stage.turns()) - turnsBefore : 0;
  return { ...nothing(attack), rounds, cases, turns, found, notes: new Map(stage.notes), seconds: (performance.now() - began) / 1_000 };
}
