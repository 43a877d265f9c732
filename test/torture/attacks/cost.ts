// Requests that grow: the processor time of the gateway may grow with their bytes, and no faster. The worst time for a KB is printed.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, permutation } from '../attack.ts';
import type { HttpCall } from '../calls/call.ts';
import { callNamed } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import { CHAT_BODIES, type Growing, RESPONSES_BODIES } from '../corpus/growing-bodies.ts';
import { expect } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import type { Stage } from '../stage/stage.ts';

const SMALL = 100_000;
const FACTOR = 8;
/** A cost that grows with the bytes, with room for collections of garbage and caches that no longer fit. */
const MOST_GROWTH = FACTOR * 2.5;
/** Below this the clock of the processor says little. */
const FLOOR_MS = 8;
const TRIES = 3;
/** The dearest KB that is served: JSON is read, edited and written in some microseconds. */
const MOST_MS_PER_KB = 1;

export const cost: Attack = {
  name: 'cost',
  title: 'processor time of requests that grow',
  stage: 'ordinary',
  lanes: 1,
  once: true,
  sample: 6,
  async cases(_stage, random) {
    return casesOf(random);
  },
};

function* casesOf(random: SeededRandom): Generator<Case> {
  const pairs = [
    ...['native', 'public', 'compact'].flatMap((name) =>
      Object.entries(RESPONSES_BODIES).map(([shape, grow]) => ({ call: callNamed(name), shape, grow })),
    ),
    ...Object.entries(CHAT_BODIES).map(([shape, grow]) => ({ call: callNamed('chat'), shape, grow })),
  ];
  for (const number of permutation(pairs.length, random)) {
    const { call, shape, grow } = pairs[number] as (typeof pairs)[number];
    yield { name: `${call.name}:${shape}`, run: (lane, stage) => grown(lane, stage, { call, shape, grow }) };
  }
}

interface Shape {
  readonly call: HttpCall;
  readonly shape: string;
  readonly grow: Growing;
}

async function grown(lane: Lane, stage: Stage, { call, shape, grow }: Shape): Promise<void> {
  const [few, many] = [grow(SMALL), grow(SMALL * FACTOR)];
  let growth = Number.POSITIVE_INFINITY;
  let perKb = Number.POSITIVE_INFINITY;
  // Another process may have had the caches: the least of some tries counts.
  for (let tries = 0; tries < TRIES && (growth > MOST_GROWTH || perKb > MOST_MS_PER_KB); tries++) {
    const small = await costOf(lane, stage, { call, body: few });
    const large = await costOf(lane, stage, { call, body: many });
    growth = Math.min(growth, Math.max(large, FLOOR_MS) / Math.max(small, FLOOR_MS));
    perKb = Math.min(perKb, large / (many.length / 1_024));
  }
  stage.note('worst CPU ms per KB', { value: perKb, of: `${call.name}, ${shape}` });
  expect(growth <= MOST_GROWTH, () => `${FACTOR} times the bytes cost ${growth.toFixed(1)} times the processor time`);
  expect(perKb <= MOST_MS_PER_KB, () => `${perKb.toFixed(2)} ms of processor time for each KB`);
}

/** Milliseconds. */
async function costOf(lane: Lane, { program }: Stage, { call, body }: { readonly call: HttpCall; readonly body: string }): Promise<number> {
  await lane.restore();
  const before = await program.cpu();
  await runCall(lane, { ...call, reply: 'any', body: Buffer.from(body) }, { said: 'spoilt' });
  return ((await program.cpu()) - before) / 1_000;
}
