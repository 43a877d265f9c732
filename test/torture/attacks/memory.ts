// Bytes that arrive in the smallest pieces without end, and bytes that the other side does not read: bodies, frames and replies may use a
// small multiple of their bytes in memory. The worst is printed.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { file, model } from '../../support/audio.ts';
import { BOUNDARY, FORM_TYPE, formOf } from '../../support/form.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET } from '../../support/native-frames.ts';
import { rawHead } from '../../support/raw-upstream.ts';
import { type Attack, type Case, permutation } from '../attack.ts';
import type { HttpCall } from '../calls/call.ts';
import { requestOf } from '../calls/call.ts';
import { callNamed } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import { SOCKET_CALLS } from '../calls/socket-calls.ts';
import { frameBytes, text } from '../client/frames.ts';
import { rawCall } from '../client/raw-call.ts';
import { upgradeRequest } from '../client/upgrade.ts';
import { repeat } from '../corpus/hostile-answers.ts';
import { serverText } from '../corpus/server-frames.ts';
import { expect } from '../finding.ts';
import type { Lane } from '../stage/lane.ts';
import { OPERATOR_TOKEN } from '../stage/settings.ts';
import type { Stage } from '../stage/stage.ts';
import type { HandAnswer } from '../wire/exchanges.ts';
import { handSocket } from '../wire/hand-socket.ts';

/** Of one request or reply; below every limit of the stage. */
const BYTES = 100_000;
/** Of a body that streams: the bytes in transit do not grow with it. */
const STREAMED_BYTES = 800_000;
/** Sent at the same time: a single one is less than the usual variation of the process. */
const AT_ONCE = 6;
/** Copies, the objects around pieces, and other memory of the process meanwhile. */
const MOST_TIMES = 24;
/** Each measurement stops the gateway for a while. */
const HELD_PATIENCE_MS = 30_000;
/** Between two measurements, each of which stops the gateway. */
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

interface Hold {
  readonly bytes: number;
  /** Sends so many bytes in pieces, and does not end; resolves when the gateway gives up. */
  send(lane: Lane): Promise<unknown>;
}

function* casesOf(random: SeededRandom): Generator<Case> {
  const all = Object.entries(HOLDS);
  for (const number of permutation(all.length, random)) {
    const [name, hold] = all[number] as (typeof all)[number];
    yield { name, run: (_lane, stage) => held(stage, name, hold) };
  }
}

async function held(stage: Stage, name: string, { bytes, send }: Hold): Promise<void> {
  const lanes = stage.lanes.slice(0, AT_ONCE);
  await Promise.all(lanes.map((lane) => lane.heal()));
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
  const times = (most - before) / (bytes * AT_ONCE);
  stage.note('most memory by the bytes that are held', { value: times, of: name });
  expect(times <= MOST_TIMES, () => `${times.toFixed(1)} times the bytes are in memory`);
}

/** Chunks of one byte. */
const inChunks = (text: string): string => [...text].map((letter) => `1\r\n${letter}\r\n`).join('');

/** A request whose body is in chunks; the client sends no more, and waits. */
const endlessRequest = ({ surface, path, headers }: HttpCall, begin: string, bytes = BYTES): Hold => ({
  bytes,
  send: (lane) => {
    const authorization = `Bearer ${surface === 'operator' ? OPERATOR_TOKEN : lane.keyFor('spoilt')}`;
    const lines = Object.entries({ host: 'gateway', authorization, ...headers, 'transfer-encoding': 'chunked' }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const head = `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
    return rawCall(lane.url, {
      pieces: [Buffer.from(head + inChunks(begin + 'a'.repeat(bytes - begin.length)))],
      leaves: 'never',
      answers: 1,
      patienceMs: HELD_PATIENCE_MS,
    });
  },
});

/** A message in fragments of one byte, without its last one. */
const endlessMessage = (path: string): Hold => ({
  bytes: BYTES,
  send: (lane) => {
    const fragments = [...`{"a":"${'a'.repeat(BYTES)}`].map((letter, i) =>
      frameBytes({ first: i === 0 ? 1 : 0, payload: Buffer.from(letter) }),
    );
    const leavesWhen = new Promise((resolve) => setTimeout(resolve, 700));
    const pieces = [upgradeRequest(path, lane.keyFor('spoilt')), Buffer.concat(fragments)];
    return rawCall(lane.url, {
      pieces,
      leaves: 'reset',
      leavesWhen,
      answers: Number.POSITIVE_INFINITY,
      isOver: () => false,
      patienceMs: HELD_PATIENCE_MS,
    });
  },
});

/** A reply of events, or of one body, in chunks of one byte that do not end. */
const endlessReply = (call: HttpCall, type: string, text: string): Hold => ({
  bytes: BYTES,
  send: (lane) => {
    const head = rawHead(200, { 'content-type': type, 'transfer-encoding': 'chunked' });
    const bytes = Buffer.from(head + inChunks(text));
    return runCall(lane, call, {
      plan: { exchange: 0, answer: (_, gateway) => void gateway.write(bytes) },
      said: 'spoilt',
      patienceMs: HELD_PATIENCE_MS,
    });
  },
});

/** Far more than the sockets on the path buffer. */
const UNREAD_BYTES = 24 << 20;
/** The bytes held of it while its reader reads nothing. */
const UNREAD_HELD_BYTES = 300_000;
const UNREAD_MS = 1_500;
/** Below the limits of the stage. */
const LARGE_UPLOAD = 4_000_000;

/** A client that reads nothing of a long reply, and leaves. */
const unreadReply = (pieces: (lane: Lane) => readonly Buffer[], answer: HandAnswer): Hold => ({
  bytes: UNREAD_HELD_BYTES,
  send: (lane) => {
    lane.exchanges.next({ exchange: 0, answer });
    const leavesWhen = sleep(UNREAD_MS);
    return rawCall(lane.url, { pieces: pieces(lane), leaves: 'reset', leavesWhen, answers: 1, isReading: false });
  },
});

const streamOf: HandAnswer = (_writer, gateway) => {
  gateway.write(rawHead(200, { 'content-type': EVENTS }));
  repeat(gateway, Buffer.from(`data: ${DELTA}\n\n`.repeat(200)), UNREAD_BYTES);
};

const framesOf = handSocket(Buffer.alloc(0), {
  ends: false,
  more: (gateway) => repeat(gateway, Buffer.concat(Array.from({ length: 200 }, () => serverText(JSON.parse(DELTA)))), UNREAD_BYTES),
});

/** An upload to an account that reads nothing of it. */
const unreadUpload = (call: HttpCall, body: Buffer): Hold => ({
  bytes: UNREAD_HELD_BYTES,
  send: (lane) => {
    lane.exchanges.next({ exchange: 0, answer: (_, gateway) => void gateway.pause() });
    const pieces = [requestOf({ ...call, body }, { key: lane.keyFor('spoilt'), operatorToken: OPERATOR_TOKEN })];
    return rawCall(lane.url, { pieces, leaves: 'reset', leavesWhen: sleep(UNREAD_MS), answers: 1 });
  },
});

const EVENTS = 'text/event-stream';
const FILE = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
const DELTA = '{"type":"response.output_text.delta","sequence_number":0,"delta":"a"}';
const repeated = (text: string): string => text.repeat(BYTES / text.length);

const HOLDS: Readonly<Record<string, Hold>> = {
  ...Object.fromEntries(
    ['native', 'public', 'chat', 'compact', 'native image', 'file', 'mcp'].map((name) => [
      `a body of ${name}`,
      endlessRequest(callNamed(name), '{"a":"'),
    ]),
  ),
  ...Object.fromEntries(
    ['public image edit', 'public file'].map((name) => [
      `a form of ${name}`,
      endlessRequest({ ...callNamed(name), headers: { 'content-type': FORM_TYPE } }, FILE),
    ]),
  ),
  'an upload of analytics': endlessRequest(callNamed('analytics'), '', STREAMED_BYTES),
  ...Object.fromEntries(
    ['transcribe', 'public transcription'].map((name) => [
      `an upload of ${name}`,
      endlessRequest({ ...callNamed(name), headers: { 'content-type': FORM_TYPE } }, FILE, STREAMED_BYTES),
    ]),
  ),
  ...Object.fromEntries(
    ['native events', 'public events', 'chat chunks'].map((name) => {
      const request = (lane: Lane): readonly Buffer[] => [
        requestOf(callNamed(name), { key: lane.keyFor('spoilt'), operatorToken: OPERATOR_TOKEN }),
      ];
      return [`an unread reply of ${name}`, unreadReply(request, streamOf)];
    }),
  ),
  ...Object.fromEntries(
    SOCKET_CALLS.filter(({ frames }) => frames.length === 1).map(({ name, path, frames: [first] }) => {
      const frame = text(JSON.stringify({ type: 'response.create', ...first?.(undefined) }));
      return [`an unread reply of ${name}`, unreadReply((lane) => [upgradeRequest(path, lane.keyFor('spoilt')), frame], framesOf)];
    }),
  ),
  ...Object.fromEntries(
    ['transcribe', 'public transcription'].map((name) => {
      const body = formOf([model, file(Buffer.alloc(LARGE_UPLOAD, 'a'))]);
      return [`an unread upload of ${name}`, unreadUpload(callNamed(name), body)];
    }),
  ),
  'an unread upload of analytics': unreadUpload(callNamed('analytics'), Buffer.alloc(LARGE_UPLOAD, ' ')),
  ...Object.fromEntries([NATIVE_SOCKET, PUBLIC_SOCKET].map((path) => [`a message to ${path}`, endlessMessage(path)])),
  ...Object.fromEntries(
    ['native', 'native events', 'public', 'public events', 'chat chunks'].flatMap((name) => {
      const call = callNamed(name);
      return [
        [`one event to ${name}`, endlessReply(call, EVENTS, `data: ${'a'.repeat(BYTES)}`)],
        [`one event behind a delta to ${name}`, endlessReply(call, EVENTS, `data: ${DELTA}\n\ndata: ${'a'.repeat(BYTES)}`)],
        [`empty lines to ${name}`, endlessReply(call, EVENTS, '\n'.repeat(BYTES))],
        [`comments to ${name}`, endlessReply(call, EVENTS, repeated(':\n\n'))],
        [`lifecycle events to ${name}`, endlessReply(call, EVENTS, repeated('data: {"type":"keepalive"}\n\n'))],
      ];
    }),
  ),
  ...Object.fromEntries(
    ['native', 'public', 'chat', 'compact', 'native image', 'file', 'transcribe'].map((name) => [
      `one body to ${name}`,
      endlessReply(callNamed(name), 'application/json', `{"a":"${'a'.repeat(BYTES)}`),
    ]),
  ),
};
