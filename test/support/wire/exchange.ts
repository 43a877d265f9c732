// Sends the body of a case to the gateway and reads the answer: as JSON, as a stream, or as a frame on a websocket that all cases share.
import assert from 'node:assert/strict';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { TestGateway } from '../gateway.ts';
import { eventsOf } from '../network/sse-events.ts';
import { CHAT, CHAT_ALIAS } from '../turns/turn-paths.ts';
import { connect, type TestSocket } from '../websocket.ts';

/** How a client sends a turn. */
export type Over = 'json' | 'sse' | 'websocket';

export interface Endpoint {
  readonly over: Over;
  readonly path: string;
}

const NATIVE = '/backend-api/agent/responses';
const ALIAS = '/backend-api/agent/v1/responses';
const PUBLIC = '/v1/responses';

/** The endpoints of each kind that is tested here. Other tests cover rows of other kinds. */
export const ENDPOINTS: Partial<Record<RouteKind, readonly Endpoint[]>> = {
  responses: [
    { over: 'json', path: NATIVE },
    { over: 'sse', path: NATIVE },
    { over: 'sse', path: ALIAS },
    { over: 'websocket', path: NATIVE },
    { over: 'websocket', path: ALIAS },
  ],
  'public-responses': [
    { over: 'json', path: PUBLIC },
    { over: 'sse', path: PUBLIC },
    { over: 'websocket', path: PUBLIC },
  ],
  chat: [
    { over: 'json', path: CHAT },
    { over: 'sse', path: CHAT },
    { over: 'sse', path: CHAT_ALIAS },
  ],
  compact: [
    { over: 'json', path: `${NATIVE}/compact` },
    { over: 'json', path: `${ALIAS}/compact` },
  ],
  // Its trigger is added to the body of the case. A frame without an anchor is also sent over HTTP (F3.6).
  'public-compact': [
    { over: 'json', path: PUBLIC },
    { over: 'sse', path: PUBLIC },
    { over: 'websocket', path: PUBLIC },
  ],
};

/** The answer to a turn over any carrier. */
export interface Answer {
  /** The status of the answer over HTTP, or of the error frame; 200 for a turn that ended on a websocket. */
  readonly status: number;
  readonly error: JsonObject | undefined;
  /** The members of a refusal's JSON other than `error`. */
  readonly besideError: JsonObject;
  /** The value of `x-request-id`. Frames have none. */
  readonly id: string | undefined;
  readonly headers: Headers;
  /** The events of a stream or of a websocket, or the one answer in JSON. */
  readonly events: readonly JsonObject[];
  readonly text: string;
}

export class Exchange {
  readonly #gate: TestGateway;
  /** The websockets by path and Authorization. A refusal must leave the connection open, because the next case uses it. */
  readonly #sockets = new Map<string, Promise<TestSocket>>();

  constructor(gate: TestGateway) {
    this.#gate = gate;
  }

  async ask(endpoint: Endpoint, body: JsonObject, authorization: string): Promise<Answer> {
    return endpoint.over === 'websocket'
      ? this.#askByFrame(await this.socket(endpoint.path, authorization), body)
      : this.#askByHttp(endpoint, body, authorization);
  }

  /** The shared websocket of a key on a path. */
  socket(path: string, authorization: string): Promise<TestSocket> {
    const key = `${path} ${authorization}`;
    const open = this.#sockets.get(key) ?? connect(this.#gate, path, { key: null, headers: { authorization } });
    this.#sockets.set(key, open);
    return open;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.values()) (await socket).terminate();
  }

  async #askByHttp({ over, path }: Endpoint, body: JsonObject, authorization: string): Promise<Answer> {
    const { status, headers, text, json } = await this.#gate.send(path, { body, headers: { authorization } });
    const { error, ...besideError } = json ?? {};
    const events = over === 'sse' && status === 200 ? eventsOf(text).map(({ data }) => data) : [json];
    return {
      status,
      error,
      besideError,
      id: headers.get('x-request-id') ?? assert.fail('an answer without x-request-id'),
      headers,
      events,
      text,
    };
  }

  async #askByFrame(socket: TestSocket, body: JsonObject): Promise<Answer> {
    const events = await socket.turn(body);
    const last = events.at(-1);
    const text = JSON.stringify(events);
    const common = { id: undefined, headers: new Headers(), events, text };
    if (last?.type !== 'error') return { ...common, status: 200, error: undefined, besideError: {} };
    assert.equal(events.length, 1, `a refusal is one frame: ${text}`);
    await socket.ping();
    const { type: _, status, error, ...besideError } = last;
    assert.ok(typeof status === 'number', 'a numeric status, without which clients hang (Q2)');
    return { ...common, status, error: error as JsonObject, besideError };
  }
}
