// The database under load and at the start: its disk is full, its file is locked by another process, its folder is read-only, or its bytes
// are damaged.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { until } from '../../support/until.ts';
import type { Attack, Case } from '../attack.ts';
import { expect } from '../finding.ts';
import { Load } from '../stage/load.ts';
import type { SmallDisk } from '../stage/small-disk.ts';
import type { Stage } from '../stage/stage.ts';

export const store: Attack = {
  name: 'store',
  title: 'disk full, database locked, read-only, damaged',
  stage: 'small disk',
  lanes: 1,
  sample: 3,
  async cases(_stage, random) {
    return casesOf(random);
  },
};

const CASES: Readonly<Record<string, (stage: Stage, random: SeededRandom) => Promise<void>>> = {
  'a full disk under load': (stage, random) => underLoad(stage, random, fill),
  'a locked database under load': (stage, random) => underLoad(stage, random, lock),
  'a disk that fills and empties under load': (stage, random) => underLoad(stage, random, flutter),
  'a full disk at the start': (stage) => atStart(stage, /disk is full|cannot be written/, fill),
  'a locked database at the start': (stage) => atStart(stage, /another process/, lock),
  'a read-only disk at the start': (stage) => atStart(stage, /cannot be written/, protect),
  'a damaged database at the start': (stage) => atStart(stage, /not a database/, damage),
};

function* casesOf(random: SeededRandom): Generator<Case> {
  for (let number = 0; ; number++) {
    for (const [name, attack] of Object.entries(CASES)) {
      const seed = Math.floor(random.between(0, 1e9));
      yield { name: `${number}:${name}`, run: (_lane, stage) => attack(stage, new SeededRandom(seed)) };
    }
  }
}

/** Ends what was begun. */
type Undo = () => void | Promise<void>;
type Begin = (stage: Stage) => Undo | Promise<Undo>;

const diskOf = ({ disk }: Stage): SmallDisk => {
  if (!disk) throw new Error('a stage without a disk of its own');
  return disk;
};

/** Checks that turns are served while nothing can be written, and that every row is written afterwards. */
async function underLoad(stage: Stage, random: SeededRandom, begin: Begin): Promise<void> {
  const load = new Load(stage, random);
  await sleep(200);
  const undo = await begin(stage);
  await sleep(random.between(200, 1_500));
  await undo();
  await sleep(200);
  const { found, calls } = await load.stop();
  expect(found.length === 0, () => `${found.length} of ${calls} calls: ${found[0]?.message}`);
  await until('all rows to be written', async () => ((await stage.adminJson('/api/status')).store.queued === 0 ? true : undefined));
  const { dropped, rejected } = (await stage.adminJson('/api/status')).store;
  expect(dropped === 0 && rejected === 0, () => `${dropped} rows were dropped, ${rejected} rejected`);
}

/** Checks that a start that cannot succeed ends soon with its reason, and that the next start succeeds. */
async function atStart(stage: Stage, said: RegExp, begin: Begin): Promise<void> {
  await stage.program.stop();
  const undo = await begin(stage);
  const failure = await stage.start().then(
    () => undefined,
    (error: Error) => error.message,
  );
  await undo();
  if (failure === undefined) return;
  await stage.start();
  expect(said.test(failure) && /ended with [1-9]/.test(failure), () => `a start that failed otherwise: ${failure}`);
  expect(!/\bat .*:\d+:\d+/.test(failure), () => `a stack in the place of a message: ${failure}`);
}

const fill: Begin = (stage) => {
  diskOf(stage).fill();
  return () => diskOf(stage).free();
};

/** The disk is full for some milliseconds, again and again. */
const flutter: Begin = (stage) => {
  let full = false;
  const timer = setInterval(() => {
    full = !full;
    if (full) diskOf(stage).fill();
    else diskOf(stage).free();
  }, 40);
  return () => {
    clearInterval(timer);
    diskOf(stage).free();
  };
};

/** Another process writes for longer than SQLite waits. */
const lock: Begin = ({ database }) => database.lock();

const protect: Begin = (stage) => {
  diskOf(stage).remount('ro');
  return () => diskOf(stage).remount('rw');
};

const damage: Begin = (stage) => {
  const path = join(diskOf(stage).path, 'poolgate.db');
  const bytes = readFileSync(path);
  writeFileSync(path, Buffer.from(bytes).fill(0xaa, 0, 4_096));
  return () => writeFileSync(path, bytes);
};
