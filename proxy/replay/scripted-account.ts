// The account of a replay. It answers each request as the recorded account did, and keeps what it received.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { WebSocket, WebSocketServer } from 'ws';
import { listenOn } from '../base/process/listen-on.ts';
import type { Json, JsonObject } from '../turn/json/json.ts';
import { type ConversationExchange, encodedBytes, type ReplayFrame, sseText } from './conversation.ts';
import { jsonOrText, repliesAfter, typeOf } from './frames.ts';
import { responsesEvents } from './responses-events.ts';

export interface ReplayedRequest {
  readonly method: string;
  readonly path: string;
  /** Names and values as they were received. */
  readonly headers: readonly (readonly [string, string])[];
  readonly json?: Json;
  readonly bytes: number;
}

/** Headers that belong to one connection, or are set together with the body. */
const NOT_REPLAYED = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'date',
  'upgrade',
  'sec-websocket-accept',
  'sec-websocket-extensions',
]);

export class ScriptedAccount {
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  readonly #models: readonly JsonObject[];
  #exchange: ConversationExchange | undefined;
  /** The number of client frames in the running exchange that have been answered. */
  #answered = 0;
  #arrivals: ReplayedRequest[] = [];
  #frames: Json[] = [];
  #url = '';

  constructor(models: readonly JsonObject[]) {
    this.#models = models;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#sockets = new WebSocketServer({ noServer: true });
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head));
  }

  get url(): string {
    return this.#url;
  }

  async listen(): Promise<void> {
    const { port } = await listenOn(this.#server, '127.0.0.1', 0);
    this.#url = `http://127.0.0.1:${port}`;
  }

  /** Answers with this exchange from now on. */
  play(exchange: ConversationExchange): void {
    this.#exchange = exchange;
    this.#answered = 0;
    this.#arrivals = [];
    this.#frames = [];
  }

  /** The requests and upgrades of the running exchange, without the gateway's own reads. */
  get arrivals(): readonly ReplayedRequest[] {
    return this.#arrivals;
  }

  /** The frames of the running exchange. */
  get frames(): readonly Json[] {
    return this.#frames;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request).catch(() => Buffer.alloc(0));
    const { method = '', url = '' } = request;
    const path = url.split('?')[0] ?? '';
    const send = (status: number, value: Json): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (method === 'GET' && path.endsWith('/models')) return send(200, { models: this.#models });
    if (method === 'GET' && path.endsWith('/usage')) return send(200, USAGE);
    this.#arrivals.push(arrivalOf(request, bytes));
    const exchange = this.#exchange;
    const answer = exchange?.answer;
    // No answer was recorded, because the connection died.
    if (!exchange || !answer || exchange.method === 'WS') return void response.destroy();
    const events = responsesEvents(answer, exchange.surface);
    response.writeHead(answer.status, replayedHeaders(events ? EVENT_STREAM : answer.headers));
    const body = events ? Buffer.from(events.map((event) => sseText(event, true)).join('')) : answer.body && encodedBytes(answer.body);
    if (exchange.end !== 'cut') return void response.end(body ?? '');
    response.write(body ?? '', () => response.destroy());
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => undefined);
    this.#arrivals.push(arrivalOf(request, Buffer.alloc(0)));
    const exchange = this.#exchange;
    const answer = exchange?.method === 'WS' ? exchange.answer : undefined;
    if (answer === undefined) return void socket.destroy();
    if (answer.status !== 101) {
      const bytes = answer.body?.bytes ?? Buffer.alloc(0);
      const lines = Object.entries(replayedHeaders(answer.headers)).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.end(
        `HTTP/1.1 ${answer.status} Refused\r\n${lines.join('')}content-length: ${bytes.length}\r\nconnection: close\r\n\r\n${bytes}`,
      );
      return;
    }
    this.#sockets.once('headers', (lines) => {
      for (const [name, value] of Object.entries(replayedHeaders(answer.headers))) lines.push(`${name}: ${value}`);
    });
    this.#sockets.handleUpgrade(request, socket, head, (websocket) => {
      this.#send(websocket, repliesAfter(exchange?.frames ?? [], -1));
      websocket.on('message', (data) => {
        const frame = jsonOrText(String(data));
        this.#frames.push(frame);
        this.#reply(websocket, frame);
      });
      websocket.on('error', () => undefined);
    });
  }

  /** Sends what the recorded account sent after its next frame of this type. */
  #reply(websocket: WebSocket, frame: Json): void {
    const { frames = [], end } = this.#exchange ?? {};
    const sent = frames.flatMap((one, at) => (one.from === 'client' && one.close === undefined ? [{ at, type: typeOf(one.json) }] : []));
    const next = sent.findIndex(({ type }, index) => index >= this.#answered && type === typeOf(frame));
    const found = sent[next];
    if (found === undefined) return;
    this.#answered = next + 1;
    this.#send(websocket, repliesAfter(frames, found.at));
    if (end === 'cut' && next === sent.length - 1) websocket.terminate();
  }

  #send(websocket: WebSocket, frames: readonly ReplayFrame[]): void {
    for (const { json, text, binary, close } of frames) {
      if (close !== undefined) websocket.close(close === 1005 || close === 1006 ? 1000 : close);
      else if (websocket.readyState === WebSocket.OPEN)
        websocket.send(json !== undefined ? JSON.stringify(json) : (text ?? Buffer.alloc(binary ?? 0)));
    }
  }
}

const USAGE = { plan_type: 'unknown', rate_limit: { allowed: true, limit_reached: false, primary_window: null, secondary_window: null } };
const EVENT_STREAM = [['content-type', 'text/event-stream']] as const;

const replayedHeaders = (lines: readonly (readonly [string, string])[]): Record<string, string> =>
  Object.fromEntries(lines.filter(([name]) => !NOT_REPLAYED.has(name)));

function arrivalOf({ method = '', url = '', rawHeaders, headers }: IncomingMessage, bytes: Buffer): ReplayedRequest {
  const lines = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1] ?? ''] as const] : []));
  const isUpgrade = headers.upgrade?.toLowerCase() === 'websocket';
  const json = bytes.length > 0 ? { json: jsonOrText(bytes.toString('utf8')) } : {};
  return { method: isUpgrade ? 'WS' : method, path: url, headers: lines, bytes: bytes.length, ...json };
}
