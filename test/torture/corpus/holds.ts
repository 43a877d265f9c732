// Ways to make the gateway hold bytes: bodies, frames and replies in small pieces, dense JSON, and bytes that the other side does not read.
import { setTimeout as sleep } from 'node:timers/promises';
import { OBJECT_BYTES } from '../../../proxy/base/bytes/gathered-bytes.ts';
import { BOUNDARY, FORM_TYPE, formOf } from '../../support/form.ts';
import { NATIVE_SOCKET, PUBLIC_SOCKET } from '../../support/native-frames.ts';
import { rawHead } from '../../support/network/raw-upstream.ts';
import { file, model } from '../../support/stages/audio.ts';
import { type HttpCall, requestOf } from '../calls/call.ts';
import { callNamed } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import { SOCKET_CALLS } from '../calls/socket-calls.ts';
import { frameBytes, text } from '../client/frames.ts';
import { rawCall } from '../client/raw-call.ts';
import { upgradeRequest } from '../client/upgrade.ts';
import type { Lane } from '../stage/lane.ts';
import { OPERATOR_TOKEN } from '../stage/settings.ts';
import type { HandAnswer } from '../wire/exchanges.ts';
import { handSocket } from '../wire/hand-socket.ts';
import { repeat } from './hostile-answers.ts';
import { serverText } from './server-frames.ts';

/** The bytes of one request or reply, below every limit of the stage. */
const BYTES = 200_000;
/** The bytes of a streamed body. The bytes in transit do not grow with it. */
const STREAMED_BYTES = 800_000;
/** The longest wait for a state. Each measurement stops the gateway for a while. */
const HELD_PATIENCE_MS = 60_000;

export interface Hold {
  readonly bytes: number;
  /** Whether the bytes are those of parsed JSON. */
  readonly isParsed?: boolean;
  /** Sends this many bytes in pieces, without an end. Resolves when the gateway gives up. */
  send(lane: Lane): Promise<unknown>;
}

/** The text in chunks of one byte. */
const inChunks = (text: string): string => [...text].map((letter) => `1\r\n${letter}\r\n`).join('');

/** The text in repeated runs of 255 chunks of one byte and one chunk of 1,024. */
const inPieces = (text: string): string => {
  let pieces = '';
  for (let at = 0; at < text.length; at += 1_279)
    pieces += `${inChunks(text.slice(at, at + 255))}400\r\n${text.slice(at + 255, at + 1_279).padEnd(1_024)}\r\n`;
  return pieces;
};

/** A request whose body is in chunks and does not end. The client then waits. */
const endlessRequest = ({ surface, path, headers }: HttpCall, begin: string, bytes = BYTES, chunked = inChunks): Hold => ({
  bytes,
  send: (lane) => {
    const authorization = `Bearer ${surface === 'operator' ? OPERATOR_TOKEN : lane.keyFor('spoilt')}`;
    const lines = Object.entries({ host: 'gateway', authorization, ...headers, 'transfer-encoding': 'chunked' }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const head = `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
    return rawCall(lane.url, {
      pieces: [Buffer.from(head + chunked(begin + 'a'.repeat(bytes - begin.length)))],
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

/** A message in fragments of one byte, each after a pong. The pongs are below limits.websocket_controls. */
const messageBetweenPongs = (path: string): Hold => {
  const pong = frameBytes({ first: 0x8a, payload: Buffer.alloc(125) });
  const fragment = frameBytes({ first: 0, payload: Buffer.from('a') });
  const fragments = Buffer.concat(Array.from({ length: 1_000 }, () => Buffer.concat([pong, fragment])));
  return {
    bytes: fragments.length,
    send: (lane) =>
      rawCall(lane.url, {
        pieces: [
          upgradeRequest(path, lane.keyFor('spoilt')),
          Buffer.concat([frameBytes({ first: 1, payload: Buffer.from('{') }), fragments]),
        ],
        leaves: 'reset',
        leavesWhen: sleep(700),
        answers: Number.POSITIVE_INFINITY,
        isOver: () => false,
        patienceMs: HELD_PATIENCE_MS,
      }),
  };
};

/**
 * A turn with a dense body, at an account that does not answer.
 * @param needed the memory that is counted for its values, without 8 times its bytes
 */
const denseTurn = (unit: string, count: number, needed: number): Hold => {
  const body = `{"model":"model-a","stream":true,"store":false,"instructions":"a","input":[${unit.repeat(count)}0]}`;
  const call = { ...callNamed('native'), body: Buffer.from(body) };
  return {
    bytes: Math.max(body.length, (needed * count) / 8),
    isParsed: true,
    send: (lane) => {
      lane.exchanges.next({ exchange: 0, answer: () => undefined });
      const pieces = [requestOf(call, { key: lane.keyFor('spoilt'), operatorToken: OPERATOR_TOKEN })];
      return rawCall(lane.url, { pieces, leaves: 'reset', leavesWhen: sleep(UNREAD_MS), answers: 1 });
    },
  };
};

/** A reply of events, or of one body, in chunks of one byte, without an end. */
const endlessReply = (call: HttpCall, type: string, text: string, bytes = BYTES): Hold => ({
  bytes,
  send: (lane) => {
    const head = rawHead(200, { 'content-type': type, 'transfer-encoding': 'chunked' });
    const reply = Buffer.from(head + inChunks(text));
    return runCall(lane, call, {
      plan: { exchange: 0, answer: (_, gateway) => void gateway.write(reply) },
      said: 'spoilt',
      patienceMs: HELD_PATIENCE_MS,
    });
  },
});

/** A size far above that of all socket buffers on the path. */
const UNREAD_BYTES = 24 << 20;
/** The bytes that may be held while the reader reads nothing. */
const UNREAD_HELD_BYTES = 300_000;
const UNREAD_MS = 1_500;
/** A size below the limits of the stage. */
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

/** An upload to an account that does not read it. */
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
const KEEPALIVE = 'data: {"type":"keepalive"}\n\n';
const DELTA = '{"type":"response.output_text.delta","sequence_number":0,"delta":"a"}';
const repeated = (text: string): string => text.repeat(BYTES / text.length);

export const HOLDS: Readonly<Record<string, Hold>> = {
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
  ...Object.fromEntries(
    ['native', 'public', 'mcp'].map((name) => [`pieces of ${name}`, endlessRequest(callNamed(name), '{"a":"', BYTES, inPieces)]),
  ),
  'pieces of an upload': endlessRequest(
    { ...callNamed('transcribe'), headers: { 'content-type': FORM_TYPE } },
    FILE,
    STREAMED_BYTES,
    inPieces,
  ),
  'lists in lists': { ...denseTurn('[', 1_000_000, 0), isParsed: false },
  'empty objects': denseTurn('{},', 100_000, 210),
  'small lists': denseTurn('[0],', 100_000, 210),
  'nested lists': denseTurn('[[[[[[[[]]]]]]]],', 20_000, 8 * 130 + 80),
  'integers as names': denseTurn('{"999":1},', 100_000, 210),
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
  ...Object.fromEntries([NATIVE_SOCKET, PUBLIC_SOCKET].map((path) => [`fragments between pongs to ${path}`, messageBetweenPongs(path)])),
  ...Object.fromEntries(
    ['native', 'native events', 'public', 'public events', 'chat chunks'].flatMap((name) => {
      const call = callNamed(name);
      return [
        [`one event to ${name}`, endlessReply(call, EVENTS, `data: ${'a'.repeat(BYTES)}`)],
        [`one event behind a delta to ${name}`, endlessReply(call, EVENTS, `data: ${DELTA}\n\ndata: ${'a'.repeat(BYTES)}`)],
        [`empty lines to ${name}`, endlessReply(call, EVENTS, '\n'.repeat(BYTES))],
        [`comments to ${name}`, endlessReply(call, EVENTS, repeated(':\n\n'))],
        [`lifecycle events to ${name}`, endlessReply(call, EVENTS, repeated(KEEPALIVE), BYTES + (BYTES / KEEPALIVE.length) * OBJECT_BYTES)],
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
