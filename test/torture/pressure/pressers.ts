// Ten keys that each request as much memory and time of the gateway as one key can.
import { setTimeout as sleep } from 'node:timers/promises';
import { BOUNDARY, FORM_TYPE } from '../../support/form.ts';
import { NATIVE_SOCKET } from '../../support/native-frames.ts';
import { frameBytes } from '../client/frames.ts';
import { upgradeRequest } from '../client/upgrade.ts';
import { type Pushed, push } from './push.ts';

/** The size of a body, below limits.request_body_bytes. */
const BODY_BYTES = 70_000_000;
const PATH = '/backend-api/agent/responses';
/** The number of simultaneous requests of one key. */
const AT_ONCE = 4;
const TRICKLES = 8;
const TRICKLE_MS = 1_000;
/**
 * The pause between two requests on one connection. Without it, clients that are refused at once would only measure how fast they connect.
 */
const PAUSE_MS = 20;

export interface Presser {
  readonly name: string;
  readonly atOnce: number;
  /** Sends one request. Resolves when it was answered or refused. */
  send(url: string, key: string, signal: AbortSignal): Promise<Pushed>;
}

/** Sends requests until the signal aborts. Resolves with the number of answers by status. */
export async function press(presser: Presser, url: string, key: string, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const answers = new Map<string, number>();
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      const answer = await presser.send(url, key, signal);
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: presser.atOnce }, work));
  return answers;
}

/** A body of a stated length that repeats a unit. Parts of it are sent from one buffer. */
const bodyOf = (name: string, head: string, unit: string, tail: string, bytes = BODY_BYTES): Presser => {
  const repeated = Buffer.from(unit.repeat(Math.ceil(Math.min(1_048_576, bytes / 8) / unit.length)));
  const rounds = Math.floor((bytes - head.length - tail.length) / repeated.length);
  const length = head.length + rounds * repeated.length + tail.length;
  return {
    name,
    atOnce: AT_ONCE,
    send: (url, key, signal) =>
      push(url, {
        signal,
        pieces: (function* () {
          yield Buffer.from(headOf(PATH, key, `content-type: application/json\r\ncontent-length: ${length}`) + head);
          for (let i = 0; i < rounds; i++) yield repeated;
          yield Buffer.from(tail);
        })(),
      }),
  };
};

/** A body without end in these chunks. */
const chunked = (name: string, path: string, type: string, head: string, sizes: readonly number[]): Presser => {
  const one = sizes.map((size) => `${size.toString(16)}\r\n${'a'.repeat(size)}\r\n`).join('');
  const repeated = Buffer.from(one.repeat(Math.ceil(262_144 / one.length)));
  const carried = sizes.reduce((sum, size) => sum + size, 0) * Math.ceil(262_144 / one.length);
  return {
    name,
    atOnce: AT_ONCE,
    send: (url, key, signal) =>
      push(url, {
        signal,
        pieces: (function* () {
          yield Buffer.from(
            `${headOf(path, key, `content-type: ${type}\r\ntransfer-encoding: chunked`)}${head.length.toString(16)}\r\n${head}\r\n`,
          );
          for (let sent = 0; sent < BODY_BYTES; sent += carried) yield repeated;
        })(),
      }),
  };
};

const headOf = (path: string, key: string, framing: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n${framing}\r\n\r\n`;

const FILE = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
const TURN = '{"model":"model-a","stream":true,"store":false,"instructions":"a","input":[';
const PIECES = [...Array.from({ length: 255 }, () => 1), 1_024];
/** Objects with names of 37 characters each. */
const NAMES = Array.from({ length: 400 }, (_, i) => `{"${i.toString(36)}${'x'.repeat(30)}":{}},`).join('');

/** One byte per second on several connections. */
const trickled: Presser = {
  name: 'trickled bodies',
  atOnce: TRICKLES,
  send: (url, key, signal) =>
    push(url, {
      signal,
      pieces: (async function* () {
        yield Buffer.from(
          `${headOf(PATH, key, 'content-type: application/json\r\ncontent-length: 70000000')}{"a":"${'a'.repeat(8_000_000)}`,
        );
        for (;;) {
          await sleep(TRICKLE_MS, undefined, { signal });
          yield Buffer.from('a');
        }
      })(),
    }),
};

/** Fragments of one byte, each after a pong. */
const fragments: Presser = {
  name: 'fragments between pongs',
  atOnce: AT_ONCE,
  send: (url, key, signal) => {
    const pong = frameBytes({ first: 0x8a, payload: Buffer.alloc(125) });
    const one = Buffer.concat([pong, frameBytes({ first: 0, payload: Buffer.from('a') })]);
    return push(url, {
      signal,
      endsWith: 'close',
      pieces: (function* () {
        yield upgradeRequest(NATIVE_SOCKET, key);
        yield frameBytes({ first: 1, payload: Buffer.from('{"a":"') });
        for (let i = 0; i < 10_000; i++) yield one;
      })(),
    });
  },
};

/** Requests without a key, as fast as one connection after another can be refused. */
const keyless: Presser = {
  name: 'requests without a key',
  atOnce: AT_ONCE,
  send: (url, _key, signal) => push(url, { signal, pieces: [Buffer.from(`${headOf(PATH, 'unknown', 'content-length: 2')}{}`)] }),
};

export const PRESSERS: readonly Presser[] = [
  chunked('pieces of a body', PATH, 'application/json', '{"a":"', PIECES),
  chunked('pieces of an upload', '/v1/audio/transcriptions', FORM_TYPE, FILE, [1]),
  bodyOf('lists in lists', '', '[', ''),
  bodyOf('empty objects', TURN, '{},', '0]}'),
  bodyOf('dense objects', TURN, '{},', '0]}', 720_000),
  bodyOf('distinct names', TURN, NAMES, '0]}', 4_000_000),
  bodyOf('one string', `${TURN}{"type":"message","role":"user","content":"`, 'a', '"}]}'),
  trickled,
  fragments,
  keyless,
];
