// The wall clock of the gateway jumps under load, by seconds, hours, weeks and years, forwards and back.
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, pick } from '../attack.ts';
import { SOCKET_CALLS } from '../calls/socket-calls.ts';
import { expect } from '../finding.ts';
import { Load } from '../stage/load.ts';
import type { Stage } from '../stage/stage.ts';

const SECOND = 1_000;
const DAY = 86_400 * SECOND;
const JUMPS = [SECOND, 61 * SECOND, 3_600 * SECOND, DAY, 8 * DAY, 29 * DAY, 366 * DAY, 10 * 366 * DAY];

/** Calls with one turn. The account of a response is stored for a day, so that a later turn may not find it after a jump. */
const SINGLE = SOCKET_CALLS.filter(({ frames }) => frames.length === 1);

export const clock: Attack = {
  name: 'clock',
  title: 'the wall clock jumps under load',
  stage: 'ordinary',
  lanes: 1,
  sample: 1,
  // Old rows are deleted after a jump.
  allows: { unequalRows: true },
  async cases(_stage, random) {
    return casesOf(random);
  },
};

function* casesOf(random: SeededRandom): Generator<Case> {
  for (let number = 0; ; number++) {
    const jumps = Array.from({ length: 3 }, () => pick(JUMPS, random) * (random.next() < 0.5 ? -1 : 1));
    const seed = Math.floor(random.between(0, 1e9));
    yield { name: `${number}:${jumps.map((ms) => ms / SECOND)} s`, run: (_lane, stage) => jumped(stage, jumps, seed) };
  }
}

async function jumped(stage: Stage, jumps: readonly number[], seed: number): Promise<void> {
  const load = new Load(stage, new SeededRandom(seed), SINGLE);
  try {
    for (const ms of jumps) {
      await sleep(150);
      await stage.program.setWallClock(ms);
    }
    await sleep(150);
  } finally {
    await stage.program.setWallClock(-jumps.reduce((sum, ms) => sum + ms, 0));
  }
  await sleep(100);
  const { found, calls } = await load.stop();
  expect(found.length === 0, () => `${found.length} of ${calls} calls: ${found[0]?.message}`);
  await stage.admin('/api/requests?limit=1');
  const [row] = await stage.database.all('SELECT count(*) AS count FROM requests WHERE duration_ms < 0');
  expect(row?.count === 0, () => `${row?.count} turns took less than no time`);
}
