// Requests, frames and replies that grow. The processor time of the gateway may grow with their bytes, and no faster. The worst time per KB
// is printed.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { FORM_TYPE } from '../../support/form.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET } from '../../support/native-frames.ts';
import { rawHead } from '../../support/network/raw-upstream.ts';
import { connect } from '../../support/websocket.ts';
import { type Attack, type Case, permutation } from '../attack.ts';
import type { HttpCall } from '../calls/call.ts';
import { callNamed, HTTP_CALLS } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import {
  CHAT_BODIES,
  GROWING_PARTS,
  GROWING_REPLIES,
  type Growing,
  grownBodies,
  MESSAGES_BODIES,
  RESPONSES_BODIES,
} from '../corpus/growing-bodies.ts';
import { expect } from '../finding.ts';
import { JSON_CALLS } from '../fuzz/client-bodies.ts';
import type { Lane } from '../stage/lane.ts';
import type { Stage } from '../stage/stage.ts';

const SMALL = 100_000;
const FACTOR = 8;
/** The highest permitted growth of the cost. It leaves room for garbage collections, and for data that no longer fit into caches. */
const MOST_GROWTH = FACTOR * 2.5;
/** The processor time below which measurements are too imprecise. */
const FLOOR_MS = 8;
const TRIES = 3;
/** The highest permitted cost of a KB. Reading, editing and writing JSON takes some microseconds. */
const MOST_MS_PER_KB = 1;

export const cost: Attack = {
  name: 'cost',
  title: 'processor time of requests, frames and replies that grow',
  stage: 'ordinary',
  lanes: 1,
  once: true,
  sample: 5,
  async cases(_stage, random) {
    return casesOf(random);
  },
};

/** Something that grows. */
interface Growth {
  readonly name: string;
  readonly grow: Growing;
  /** @param text the output of `grow` */
  send(lane: Lane, text: string): Promise<unknown>;
}

/** Lists of growing bodies for Responses, Chat and Messages requests. */
const LISTED: Readonly<Record<string, Readonly<Record<string, Growing>>>> = {
  native: RESPONSES_BODIES,
  public: RESPONSES_BODIES,
  compact: RESPONSES_BODIES,
  chat: CHAT_BODIES,
  messages: MESSAGES_BODIES,
};

const growths = (): readonly Growth[] => [
  ...Object.entries(LISTED).flatMap(([name, bodies]) => bodyGrowths(callNamed(name), bodies)),
  ...JSON_CALLS.filter(
    ({ name, reply }) => LISTED[name] === undefined && reply !== 'events' && reply !== 'chunks' && reply !== 'blocks',
  ).flatMap((call) => bodyGrowths(call, grownBodies(JSON.parse(call.body.toString())))),
  ...HTTP_CALLS.filter(({ headers }) => headers['content-type'] === FORM_TYPE).flatMap(formGrowths),
  ...[NATIVE_SOCKET, PUBLIC_SOCKET].flatMap(frameGrowths),
  ...['native', 'native events', 'public', 'public events', 'chat chunks', 'messages', 'messages blocks'].flatMap((name) =>
    replyGrowths(callNamed(name)),
  ),
];

const bodyGrowths = (call: HttpCall, bodies: Readonly<Record<string, Growing>>): readonly Growth[] =>
  Object.entries(bodies).map(([shape, grow]) => ({
    name: `${call.name}:${shape}`,
    grow,
    send: (lane, text) => runCall(lane, { ...call, reply: 'any', body: Buffer.from(text) }, { said: 'spoilt' }),
  }));

/** Growths of a form. Its own parts follow the growing one. */
const formGrowths = (call: HttpCall): readonly Growth[] =>
  bodyGrowths(
    call,
    Object.fromEntries(
      Object.entries(GROWING_PARTS).map(([shape, grow]) => [shape, (n: number) => grow(n) + call.body.toString('latin1')]),
    ),
  );

const frameGrowths = (path: string): readonly Growth[] =>
  Object.entries(RESPONSES_BODIES).map(([shape, grow]) => ({
    name: `${path}:${shape}`,
    grow,
    send: async (lane, text) => {
      using socket = await connect(lane, path, { key: lane.keyFor('spoilt') });
      socket.send(`{"type":"response.create",${text.slice(1)}`);
      await socket.rest();
    },
  }));

const replyGrowths = (call: HttpCall): readonly Growth[] =>
  Object.entries(GROWING_REPLIES).map(([shape, grow]) => ({
    name: `${call.name}:reply of ${shape}`,
    grow,
    send: (lane, text) =>
      runCall(lane, call, {
        plan: { exchange: 0, answer: (_, gateway) => void gateway.end(rawHead(200, { 'content-type': 'text/event-stream' }) + text) },
        said: 'spoilt',
      }),
  }));

function* casesOf(random: SeededRandom): Generator<Case> {
  const all = growths();
  for (const number of permutation(all.length, random)) {
    const one = all[number] as Growth;
    yield { name: one.name, run: (lane, stage) => grown(lane, stage, one) };
  }
}

async function grown(lane: Lane, stage: Stage, { name, grow, send }: Growth): Promise<void> {
  const [few, many] = [grow(SMALL), grow(SMALL * FACTOR)];
  let growth = Number.POSITIVE_INFINITY;
  let perKb = Number.POSITIVE_INFINITY;
  // The least of several tries counts, because another process may have used the caches.
  for (let tries = 0; tries < TRIES && (growth > MOST_GROWTH || perKb > MOST_MS_PER_KB); tries++) {
    const small = await costOf(lane, stage, () => send(lane, few));
    const large = await costOf(lane, stage, () => send(lane, many));
    growth = Math.min(growth, Math.max(large, FLOOR_MS) / Math.max(small, FLOOR_MS));
    perKb = Math.min(perKb, large / (many.length / 1_024));
  }
  stage.note('worst CPU ms per KB', { value: perKb, of: name });
  expect(growth <= MOST_GROWTH, () => `${FACTOR} times the bytes cost ${growth.toFixed(1)} times the processor time`);
  expect(perKb <= MOST_MS_PER_KB, () => `${perKb.toFixed(2)} ms of processor time for each KB`);
}

/** The cost in milliseconds. */
async function costOf(lane: Lane, { program }: Stage, send: () => Promise<unknown>): Promise<number> {
  await lane.endCooldowns();
  const before = await program.cpu();
  await send();
  return ((await program.cpu()) - before) / 1_000;
}
