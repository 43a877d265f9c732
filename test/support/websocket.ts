// A websocket client for tests. It sends turns and reads their frames. Every wait has a deadline, whose error lists the frames so far.
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { KEY } from './gateway.ts';
import { inTime } from './rehearsal-inbox.ts';

export interface SocketOptions {
  /** The key. Null sends no Authorization. Default: the test key. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it answers pings. Default: true. */
  readonly answersPings?: boolean;
  /** Whether it offers permessage-deflate, as native clients do. Default: false. */
  readonly offersCompression?: boolean;
}

/** Thrown with the answer to an upgrade that was refused. */
export class UpgradeRefusal extends Error {
  override readonly name = 'UpgradeRefusal';
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Undefined if the body is not a JSON object. */
  readonly json: JsonObject | undefined;

  constructor(status: number, headers: IncomingHttpHeaders, body: string) {
    super(`the upgrade was refused with ${status}: ${body.slice(0, 200)}`);
    this.status = status;
    this.headers = headers;
    this.text = body;
    this.json = objectOf(body);
  }

  /** The error in the body. */
  get error(): JsonObject {
    const error = this.json?.error;
    if (!isObject(error)) throw new Error(`no error in ${this.text.slice(0, 200)}`);
    return error;
  }
}

/** How the server ended the connection. The code is 1006 if no close frame came. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

const TERMINALS: ReadonlySet<Json | undefined> = new Set(['response.completed', 'response.failed', 'response.incomplete', 'error']);

export class TestSocket {
  /** The headers of the answer to the upgrade. */
  readonly headers: IncomingHttpHeaders;
  /** All frames so far. A text frame that is not a JSON object is `{malformed: text}`, a binary frame `{binary: base64}`. */
  readonly frames: JsonObject[] = [];
  /** The number of pings that came. */
  pings = 0;
  readonly #websocket: WebSocket;
  readonly #closing: Promise<Closing>;
  #isClosed = false;
  #read = 0;
  #arrived = Promise.withResolvers<void>();

  /** Call `connect` instead. */
  constructor(websocket: WebSocket, headers: IncomingHttpHeaders) {
    this.#websocket = websocket;
    this.headers = headers;
    websocket.on('message', (data: Buffer, isBinary: boolean) => {
      const body = data.toString();
      this.frames.push(isBinary ? { binary: data.toString('base64') } : (objectOf(body) ?? { malformed: body }));
      this.#announce();
    });
    websocket.on('ping', () => {
      this.pings += 1;
    });
    // The `close` event that follows states the cause.
    websocket.on('error', () => undefined);
    this.#closing = new Promise((resolve) => {
      websocket.on('close', (code: number, reason: Buffer) => {
        this.#isClosed = true;
        this.#announce();
        resolve({ code, reason: reason.toString() });
      });
    });
  }

  /** Resolves when the connection has closed. */
  get closed(): Promise<Closing> {
    return this.#inTime(this.#closing, 'the close');
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Sends a text frame with JSON, or with exactly this text. */
  send(frame: JsonObject | string): void {
    this.#websocket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  sendBytes(bytes: Uint8Array, { binary = true }: { readonly binary?: boolean } = {}): void {
    this.#websocket.send(bytes, { binary });
  }

  /** The next frame that was not read yet. */
  async next(): Promise<JsonObject> {
    for (;;) {
      const frame = this.frames[this.#read];
      if (frame !== undefined) {
        this.#read += 1;
        return frame;
      }
      if (this.#isClosed) throw new Error(`the websocket closed before its next frame; ${this.#soFar()}`);
      await this.#inTime(this.#arrived.promise, 'the next frame');
    }
  }

  /** The frames up to the turn's terminal or `error` frame. */
  async rest(): Promise<readonly JsonObject[]> {
    const frames: JsonObject[] = [];
    do frames.push(await this.next());
    while (!TERMINALS.has(frames.at(-1)?.type));
    return frames;
  }

  /** Sends `response.create` with these members. @returns the frames up to the terminal or `error` frame */
  turn(body: JsonObject): Promise<readonly JsonObject[]> {
    this.send({ type: 'response.create', ...body });
    return this.rest();
  }

  /** Stops reading, so that the server's writes are not taken. */
  pause(): void {
    this.#websocket.pause();
  }

  resume(): void {
    this.#websocket.resume();
  }

  /** Sends a ping. Resolves when its pong has come. */
  async ping(): Promise<void> {
    const closed = this.#closing.then(() => Promise.reject(new Error(`the websocket closed before a pong; ${this.#soFar()}`)));
    const pong = Promise.race([once(this.#websocket, 'pong'), closed]);
    this.#websocket.ping();
    await this.#inTime(pong, 'the pong');
  }

  close(code?: number): void {
    this.#websocket.close(code);
  }

  /** Ends the connection without a close frame. Both sides get 1006. */
  terminate(): void {
    this.#websocket.terminate();
  }

  [Symbol.dispose](): void {
    this.terminate();
  }

  #announce(): void {
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
  }

  #soFar(): string {
    return `${this.frames.length} frames came: ${this.frames.map((frame) => (typeof frame.type === 'string' ? frame.type : Object.keys(frame)[0])).join(', ')}`;
  }

  #inTime<T>(promise: Promise<T>, what: string): Promise<T> {
    return inTime(promise, () => `${what} of a websocket; ${this.#soFar()}`);
  }
}

/**
 * Opens a websocket to a gateway, or to anything with a `url`.
 * @throws UpgradeRefusal
 */
export function connect(
  { url }: { readonly url: string },
  path = '/backend-api/agent/responses',
  { key = KEY, headers = {}, answersPings = true, offersCompression = false }: SocketOptions = {},
): Promise<TestSocket> {
  const websocket = new WebSocket(url.replace(/^http/, 'ws') + path, {
    headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
    autoPong: answersPings,
    perMessageDeflate: offersCompression,
  });
  const opened = new Promise<TestSocket>((resolve, reject) => {
    websocket.once('upgrade', (response: IncomingMessage) => {
      const socket = new TestSocket(websocket, response.headers);
      websocket.once('open', () => resolve(socket));
    });
    websocket.once('unexpected-response', (_, response: IncomingMessage) => {
      const { statusCode = 0 } = response;
      text(response).then((body) => reject(new UpgradeRefusal(statusCode, response.headers, body)), reject);
    });
    websocket.once('error', reject);
  });
  return inTime(opened, () => `the answer to the upgrade of ${path}`);
}

/** The refusal of an upgrade. @throws Error if it is accepted */
export async function refusedUpgrade(...args: Parameters<typeof connect>): Promise<UpgradeRefusal> {
  try {
    const socket = await connect(...args);
    socket.terminate();
  } catch (error) {
    if (error instanceof UpgradeRefusal) return error;
    throw error;
  }
  throw new Error('the upgrade was accepted');
}

function objectOf(body: string): JsonObject | undefined {
  try {
    const json = JSON.parse(body) as Json;
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
