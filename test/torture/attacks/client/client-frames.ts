// Frames of clients that break the protocol, each whole, in two pieces and byte by byte; turns that are cut at every byte; and invalid
// upgrades.
import type { SeededRandom } from '../../../simulation/seeded-random.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET } from '../../../support/native-frames.ts';
import { type Attack, type Case, interleaved, permutation } from '../../attack.ts';
import { closeCode, readServerFrames, text } from '../../client/frames.ts';
import { type RawRequest, rawCall } from '../../client/raw-call.ts';
import { upgradeRequest } from '../../client/upgrade.ts';
import { CLIENT_FRAMES, type HostileFrames, ODD_TEXTS } from '../../corpus/client-frames.ts';
import { expect, shown } from '../../finding.ts';
import type { Lane } from '../../stage/lane.ts';

const PATHS = [NATIVE_SOCKET, PUBLIC_SOCKET] as const;
const SPLITS = ['whole', 'in two pieces', 'byte by byte'] as const;
const LEAVES = ['end', 'reset'] as const;

export const clientFrames: Attack = {
  name: 'client-frames',
  title: 'websocket frames of clients that break the protocol',
  stage: 'ordinary',
  sample: 90,
  async cases(_stage, random) {
    return interleaved([protocolCases(random), textCases(random), cutCases(random)]);
  },
};

function* protocolCases(random: SeededRandom): Generator<Case> {
  for (const number of permutation(CLIENT_FRAMES.length * PATHS.length * SPLITS.length, random)) {
    const split = SPLITS[number % SPLITS.length] as (typeof SPLITS)[number];
    const rest = Math.floor(number / SPLITS.length);
    const path = PATHS[rest % PATHS.length] as string;
    const frames = CLIENT_FRAMES[Math.floor(rest / PATHS.length)] as HostileFrames;
    const at = random.next();
    yield { name: `${path}:${frames.name}:${split}`, run: (lane) => broken(lane, path, frames, piecesOf(frames.bytes, split, at)) };
  }
}

function* textCases(random: SeededRandom): Generator<Case> {
  for (const number of permutation(ODD_TEXTS.length * PATHS.length, random)) {
    const path = PATHS[number % PATHS.length] as string;
    const odd = ODD_TEXTS[Math.floor(number / PATHS.length)] as string;
    const frames = { name: 'odd', bytes: Buffer.concat([text(odd), CLIENT_FRAMES[0]?.bytes ?? Buffer.alloc(0)]), closes: [] };
    yield { name: `${path}:text ${JSON.stringify(odd.slice(0, 40))}`, run: (lane) => broken(lane, path, frames, [frames.bytes]) };
  }
}

/** Cases of a turn that stops at one of its bytes. */
function* cutCases(random: SeededRandom): Generator<Case> {
  const { bytes } = CLIENT_FRAMES[0] as HostileFrames;
  for (const number of permutation(bytes.length * PATHS.length * LEAVES.length, random)) {
    const leaves = LEAVES[number % LEAVES.length] as RawRequest['leaves'];
    const rest = Math.floor(number / LEAVES.length);
    const path = PATHS[rest % PATHS.length] as string;
    const at = Math.floor(rest / PATHS.length);
    yield { name: `${path}:${leaves} at ${at}`, run: (lane) => cut(lane, path, { bytes: bytes.subarray(0, at), leaves }) };
  }
}

/** The frames of the server after its answer to the upgrade. */
function framesIn(bytes: Buffer): ReturnType<typeof readServerFrames> {
  const end = bytes.indexOf('\r\n\r\n');
  expect(bytes.toString('latin1', 0, 12) === 'HTTP/1.1 101' && end !== -1, () => `the upgrade was answered ${shown(bytes)}`);
  return readServerFrames(bytes.subarray(end + 4));
}

async function broken(lane: Lane, path: string, { closes }: HostileFrames, pieces: readonly Buffer[]): Promise<void> {
  lane.exchanges.next();
  const isOver = (bytes: Buffer): boolean => isAnswered(bytes, closes);
  const seen = await rawCall(lane.url, {
    pieces: [upgradeRequest(path, lane.keyFor('spoilt')), ...pieces],
    leaves: 'never',
    answers: 1,
    isOver,
  });
  const { frames, fault } = framesIn(seen.bytes);
  const told = (): string => `${frames.map(({ opcode, payload }) => `${opcode}: ${shown(payload)}`).join('; ')} (${seen.ended})`;
  expect(!seen.isLate, () => `neither an answer nor a close within the deadline: ${told()}`);
  expect(fault === undefined, () => `${fault}: ${told()}`);
  const closing = frames.find(({ opcode }) => opcode === 8);
  if (closes.length === 0) return expect(closing === undefined && seen.ended === undefined, () => `frames in order were closed: ${told()}`);
  const code = closing && closeCode(closing);
  expect(closes.includes(code ?? 0) || (closes.includes(0) && closing === undefined), () => `close ${code}, not ${closes}: ${told()}`);
  const dispatched = lane.exchanges.list.length;
  expect(dispatched === 0 || closes.includes(0), () => `${dispatched} turns of frames that are none: ${told()}`);
}

/** Whether the server has sent its last frame: the end of a turn, or a close frame. */
function isAnswered(bytes: Buffer, closes: readonly number[]): boolean {
  const { frames } = framesIn(bytes);
  if (frames.some(({ opcode }) => opcode === 8)) return true;
  return (closes.length === 0 || closes.includes(0)) && frames.some(({ payload }) => payload.includes('"type":"response.completed"'));
}

async function cut(
  lane: Lane,
  path: string,
  { bytes, leaves }: { readonly bytes: Buffer; readonly leaves: RawRequest['leaves'] },
): Promise<void> {
  lane.exchanges.next();
  const seen = await rawCall(lane.url, {
    pieces: [upgradeRequest(path, lane.keyFor('spoilt')), bytes],
    leaves,
    answers: 1,
    untilClosed: true,
  });
  expect(!seen.isLate, () => `the connection of a client that left is open: ${shown(seen.bytes)}`);
  expect(lane.exchanges.list.length === 0, () => `${lane.exchanges.list.length} turns of half a frame`);
}

function piecesOf(bytes: Buffer, split: (typeof SPLITS)[number], at: number): readonly Buffer[] {
  if (split === 'whole') return [bytes];
  const cut = 1 + Math.floor(at * (bytes.length - 1));
  if (split === 'in two pieces') return [bytes.subarray(0, cut), bytes.subarray(cut)];
  const single = Math.min(bytes.length, 400);
  return [...Array.from({ length: single }, (_, i) => bytes.subarray(i, i + 1)), bytes.subarray(single)];
}
