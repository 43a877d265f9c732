// `npm run bench`: measures the gateway next to other relays on this machine, and prints one table.
import { writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { parseArgs } from 'node:util';
import { installed } from './children.ts';
import { comparison } from './figures/compare.ts';
import { judge, type Verdict } from './figures/judge.ts';
import { ROWS, type Row } from './figures/rows.ts';
import { type Effort, type Scenario, Sheet } from './figures/sheet.ts';
import { tableOf } from './figures/table.ts';
import { jsonGenerator } from './json-load.ts';
import { openStage, type Stage } from './stage.ts';

const HELP = `npm run bench -- [options]
npm run bench -- simulate     compares the selection strategies with an oracle, on a virtual clock
npm run bench -- rules        what each rule adds to a native turn of 40 KB, by phase, and each step to a JSON turn
npm run bench -- console      each answer that a page of the console loads, over five million requests (--folder keeps them)

  --only ROW       only this row, or those whose names begin with it; may be given again
  --quick          three short runs instead of five; 12 rounds of a second instead of 30
  --json FILE      writes every run of every row to FILE
  --compare FILE   shows what changed since such a file
  --minutes N      of each load of the rows named scale, which only --only runs; 10, or 3 and more
  --profile DIR    writes a CPU profile of every measured stretch to DIR (and so makes it slower)

Rows: ${ROWS.map(({ name }) => name).join(' ')}
`;

const {
  values: options,
  positionals: [what],
} = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    compare: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    profile: { type: 'string' },
    folder: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function machine(stage: Stage): Promise<string> {
  const parts = await Promise.all(
    ['nginx', 'haproxy', 'wrk'].map(async (name) => ((await installed(name)) ? [] : [`${name === 'nginx' ? 'nginx-light' : name}`])),
  );
  const absent = parts.flat();
  if (absent.length > 0) say(`not installed, so not compared: apt-get install ${absent.join(' ')}`);
  const [{ model = 'unknown processor' } = {}, ...more] = cpus();
  const day = new Date().toISOString().slice(0, 10);
  return `${day}, ${more.length + 1} × ${model}, Linux ${release()}, Node ${process.version}; ${stage.cores.description}; JSON load by ${await jsonGenerator()}`;
}

/** Runs each scenario once, and returns the reasons of those that could not be measured. */
async function measure(rows: readonly Row[], stage: Stage, effort: Effort, sheet: Sheet): Promise<ReadonlyMap<Scenario, string>> {
  const missing = new Map<Scenario, string>();
  for (const scenario of new Set(rows.map((row) => row.scenario))) {
    const names = rows.filter((row) => row.scenario === scenario).map(({ name }) => name);
    const began = performance.now();
    try {
      await scenario({ stage, effort, sheet });
      say(`${names.join(', ')}: measured in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
    } catch (error) {
      missing.set(scenario, 'FAILED');
      say(`${names.join(', ')}: ${error}`);
    }
  }
  return missing;
}

async function bench(): Promise<number> {
  const { only } = options;
  const rows = only ? ROWS.filter(({ name }) => only.some((wanted) => name.startsWith(wanted))) : ROWS.filter(({ onDemand }) => !onDemand);
  if (rows.length === 0) throw new Error(`no such row; there are: ${ROWS.map(({ name }) => name).join(' ')}`);
  const minutes = Number(options.minutes);
  if (!(minutes >= 3)) throw new Error('--minutes takes a number from 3 on');
  const effort = { ...(options.quick ? { runs: 3, seconds: 2, rounds: 12 } : { runs: 5, seconds: 4, rounds: 30 }), minutes };
  const stage = await openStage(options.profile);
  const about = await machine(stage);
  say(about);
  const sheet = new Sheet();
  const missing = await measure(rows, stage, effort, sheet);
  const verdicts: readonly Verdict[] = rows.map((row) => judge(row, sheet, missing.get(row.scenario)));
  console.log(
    `${about}; median of ${effort.runs} alternating runs, of ${effort.rounds} for JSON turns and refusals (least–most)\n\n${tableOf(verdicts)}`,
  );
  if (options.compare) console.log(`\nsince ${options.compare}:\n${comparison(verdicts, options.compare)}`);
  if (options.json) writeFileSync(options.json, `${JSON.stringify({ about, effort, rows: verdicts }, null, 1)}\n`);
  return [...missing.values()].includes('FAILED') || verdicts.some(({ met }) => met === false) ? 1 : 0;
}

if (options.help || (what !== undefined && what !== 'simulate' && what !== 'console' && what !== 'rules')) {
  console.log(HELP);
} else if (what === 'simulate') {
  const [{ promptCacheTable }, { singleNode }, { severalNodes }] = await Promise.all([
    import('../simulation/prompt-cache.ts'),
    import('../simulation/simulation.ts'),
    import('../simulation/stale-views.ts'),
  ]);
  console.log(`${promptCacheTable()}\n`);
  console.log(await singleNode());
  for await (const line of severalNodes()) console.log(line);
} else if (what === 'rules') {
  const [{ ruleCosts }, { stepCosts }] = await Promise.all([import('./rule-costs.ts'), import('./step-costs.ts')]);
  console.log(`${await ruleCosts()}\n\n${await stepCosts()}`);
  process.exit(0);
} else if (what === 'console') {
  const { consoleAnswers } = await import('./console/console.ts');
  process.exit((await consoleAnswers(options.folder, say)) ? 0 : 1);
} else {
  // Every child ends with this process.
  const code = await bench().catch((error: unknown) => {
    say(error instanceof Error ? error.message : String(error));
    return 2;
  });
  process.exit(code);
}
