// Endless bytes in the smallest pieces, dense JSON, and bytes that the other side does not read. Bodies, frames and replies may use a small
// multiple of their bytes in memory. The worst multiple is printed.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, permutation } from '../attack.ts';
import { HOLDS, type Hold } from '../corpus/holds.ts';
import { expect } from '../finding.ts';
import type { Stage } from '../stage/stage.ts';

/** The number of simultaneous cases. The memory of a single one is less than the usual variation of the process. */
const AT_ONCE = 6;
/** The highest permitted multiple of the held bytes, or of the parsed JSON. */
const MOST_TIMES = 4;
const MOST_TIMES_PARSED = 8;
/** The usual variation of the process during a measurement. */
const VARIATION_BYTES = 2_000_000;
const TRIES = 3;
/** The pause between two measurements, because each of them stops the gateway. */
const PAUSE_MS = 100;

export const memory: Attack = {
  name: 'memory',
  title: 'memory for bytes that arrive in the smallest pieces, or are not read',
  stage: 'ordinary',
  lanes: 1,
  once: true,
  sample: 1,
  async cases(_stage, random) {
    return casesOf(random);
  },
};

function* casesOf(random: SeededRandom): Generator<Case> {
  const all = Object.entries(HOLDS);
  for (const number of permutation(all.length, random)) {
    const [name, hold] = all[number] as (typeof all)[number];
    yield { name, run: (_lane, stage) => held(stage, name, hold) };
  }
}

async function held(stage: Stage, name: string, hold: Hold): Promise<void> {
  const { isParsed = false } = hold;
  const allowed = isParsed ? MOST_TIMES_PARSED : MOST_TIMES;
  let times = Number.POSITIVE_INFINITY;
  // The least of several tries counts, because the process may have grown for another reason.
  for (let tries = 0; tries < TRIES && times > allowed; tries++) times = Math.min(times, await timesOf(stage, hold));
  stage.note(`most memory by the bytes that are ${isParsed ? 'parsed' : 'held'}`, { value: times, of: name });
  expect(times <= allowed, () => `${times.toFixed(1)} times the bytes are in memory`);
}

/** How many times the held bytes the gateway has in memory, at most. */
async function timesOf(stage: Stage, { bytes, send }: Hold): Promise<number> {
  const lanes = stage.lanes.slice(0, AT_ONCE);
  await Promise.all(lanes.map((lane) => lane.endCooldowns()));
  const sizeOf = async (): Promise<number> => {
    const { heapUsed, external } = await stage.program.vitals();
    return heapUsed + external;
  };
  const before = await sizeOf();
  let most = before;
  const work = { isOver: false };
  const holding = Promise.allSettled(lanes.map(send)).finally(() => {
    work.isOver = true;
  });
  while (!work.isOver) {
    await sleep(PAUSE_MS);
    most = Math.max(most, await sizeOf());
  }
  const [failed] = (await holding).filter(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return Math.max(0, most - before - VARIATION_BYTES) / (bytes * AT_ONCE);
}
