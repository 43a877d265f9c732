// A server of the public Responses API for tests, over HTTP and websockets: it records its requests, and gives the answers that the test
// sets.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';

export interface PlatformRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The parsed body; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly json: any;
  /** The number of the websocket over which it came; undefined over HTTP. */
  readonly socket?: number;
}

export type PlatformAnswer = (response: ServerResponse, request: PlatformRequest) => void;

/** The events of a turn that says `text`, complete as the platform sends them. */
export function textEvents(
  text: string,
  { id = 'resp_1', model = 'own-a' }: { readonly id?: string; readonly model?: string } = {},
): readonly JsonObject[] {
  const item = { id: `msg_${id}`, type: 'message', role: 'assistant' };
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const part = { type: 'output_text', text, annotations: [] };
  const whole = { ...item, status: 'completed', content: [part] };
  const response = { id, object: 'response', created_at: 1_700_000_000, status: 'in_progress', model, output: [] };
  const usage = { input_tokens: 11, input_tokens_details: { cached_tokens: 3 }, output_tokens: 5, total_tokens: 16 };
  return numbered([
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    ...text.split(/(?<= )/).map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
    { type: 'response.output_text.done', ...place, text },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index: 0, item: whole },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [whole], usage } },
  ]);
}

export const numbered = (events: readonly JsonObject[]): readonly JsonObject[] =>
  events.map(({ type, ...members }, sequence_number) => ({ type, sequence_number, ...members }));

export const streams =
  (events: readonly (JsonObject | string)[], headers: Readonly<Record<string, string>> = {}): PlatformAnswer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
    for (const event of events) {
      response.write(typeof event === 'string' ? event : `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  };

export const answers =
  (status: number, body: Json | string, headers: Readonly<Record<string, string>> = {}): PlatformAnswer =>
  (response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  };

export const refuses = (status: number, error: JsonObject, headers: Readonly<Record<string, string>> = {}): PlatformAnswer =>
  answers(status, { error: { message: 'refused', type: 'invalid_request_error', param: null, code: null, ...error } }, headers);

/** A list of models that states nothing but their ids. */
export const lists = (ids: readonly string[]): PlatformAnswer =>
  answers(200, { object: 'list', data: ids.map((id) => ({ id, object: 'model', owned_by: 'platform' })) });

const LISTED = ['own-a', 'image-a', 'embed-a'];

export class Platform {
  /** The base URL of the server. */
  readonly url: string;
  readonly requests: PlatformRequest[] = [];
  /** The answers to the gateway's own reads, by path. */
  readonly reading = new Map<string, PlatformAnswer>([['/v1/models', lists(LISTED)]]);
  /** The gateway's own reads; all other requests are in `requests`. */
  readonly reads: PlatformRequest[] = [];
  /** The answers to the next requests, except reads of models. */
  readonly next: PlatformAnswer[] = [];
  /** The events for the next frames. */
  readonly nextFrames: (readonly JsonObject[])[] = [];
  /** The status with which upgrades are refused. */
  refusesUpgrades: number | undefined;
  sockets: WebSocket[] = [];
  readonly #close: () => Promise<void>;

  constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  /** The requests of a path without its query. */
  at(path: string): readonly PlatformRequest[] {
    return this.requests.filter((request) => request.path.split('?')[0] === path);
  }

  clear(): void {
    this.requests.length = 0;
    this.reads.length = 0;
    this.next.length = 0;
    this.nextFrames.length = 0;
    this.refusesUpgrades = undefined;
  }

  close(): Promise<void> {
    return this.#close();
  }
}

export async function startPlatform(): Promise<Platform> {
  let count = 0;
  const nextId = (): string => `resp_${++count}`;
  const take = (request: IncomingMessage, body: Buffer, socket?: number): PlatformRequest => {
    const taken = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
      json: jsonOf(body),
      ...(socket === undefined ? {} : { socket }),
    };
    platform.requests.push(taken);
    return taken;
  };
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const read = platform.reading.get(request.url?.split('?')[0] ?? '');
      if (read) {
        read(response, take(request, body));
        platform.reads.push(...platform.requests.splice(-1));
        return;
      }
      const taken = take(request, body);
      const answer = platform.next.shift() ?? streams(textEvents('hello brave new world', { id: nextId() }));
      answer(response, taken);
    });
  });
  const upgrades = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    if (platform.refusesUpgrades !== undefined) {
      socket.end(`HTTP/1.1 ${platform.refusesUpgrades} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
      return;
    }
    upgrades.handleUpgrade(request, socket, head, (ws) => {
      const number = platform.sockets.push(ws) - 1;
      ws.on('message', (data: Buffer) => {
        take(request, data, number);
        for (const event of platform.nextFrames.shift() ?? textEvents('hello over a socket', { id: nextId() }))
          ws.send(JSON.stringify(event));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      for (const ws of platform.sockets) ws.terminate();
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const platform = new Platform(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close);
  return platform;
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
