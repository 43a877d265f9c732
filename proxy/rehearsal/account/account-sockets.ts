// The websockets of one simulated account: answers upgrades, and gives each `response.create` frame its turn.
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { isObject, type Json, type JsonObject, parsedJson } from '../../turn/json/json.ts';
import type { SimulatedAnswer } from '../delivery/answer.ts';
import { deliver, wait } from '../delivery/delivery.ts';
import { frameSteps, limitFrame, refusalFrame } from '../delivery/frame-steps.ts';
import { faultOfKind } from '../faults/fault.ts';
import { RunningTurn } from '../model/running-turn.ts';
import { toolsItems } from '../model/turn-request.ts';
import type { ReceivedRequest, RequestEnd } from '../received-request.ts';
import type { Exchanges, Recipient } from '../shared-exchanges.ts';
import { AccountSocket } from './account-socket.ts';
import { answerControl, isControl, steeredInput, unusedSteers } from './control-frames.ts';

/** The time after which a real provider ends a connection (RB28). */
const LONGEST_MS = 3_600_000;

/** The largest frame that a real provider accepts. */
const MAX_FRAME_BYTES = 15 * 1024 * 1024;

export class AccountSockets {
  readonly #recipient: Recipient;
  readonly #exchanges: Exchanges;
  readonly #server = new WebSocketServer({ noServer: true, clientTracking: false, autoPong: false, maxPayload: MAX_FRAME_BYTES });
  /** The headers of the answers to upgrades. */
  readonly #headers = new WeakMap<IncomingMessage, SimulatedAnswer['headers']>();
  readonly #open = new Set<AccountSocket>();
  /** Functions that end connections whose upgrade is in progress. */
  readonly #upgrading = new Set<(how: 'close') => void>();
  #accepted = 0;

  constructor(recipient: Recipient, exchanges: Exchanges) {
    this.#recipient = recipient;
    this.#exchanges = exchanges;
    this.#server.on('headers', (lines: string[], message: IncomingMessage) => {
      for (const [name, value] of Object.entries(this.#headers.get(message) ?? {})) lines.push(`${name}: ${value}`);
    });
  }

  get count(): number {
    return this.#open.size;
  }

  /** Closes the websockets without a running turn. @returns how many */
  closeIdle(code: number): number {
    const idle = [...this.#open].filter(({ isBusy }) => !isBusy);
    for (const socket of idle) socket.leave({ code });
    return idle.length;
  }

  /** Ends every connection. */
  terminate(): void {
    for (const socket of this.#open) socket.terminate();
    for (const cut of this.#upgrading) cut('close');
  }

  async upgrade(message: IncomingMessage, connection: Socket, head: Buffer): Promise<void> {
    const gone = new AbortController();
    const { promise: closed, resolve: end } = Promise.withResolvers<RequestEnd>();
    const cut = (how: 'close' | 'reset'): void => {
      end('cut');
      if (how === 'reset') connection.resetAndDestroy();
      else connection.destroy();
    };
    this.#upgrading.add(cut);
    connection.once('close', () => {
      this.#upgrading.delete(cut);
      gone.abort();
      end('left');
    });
    // An error of a connection that the client closed needs no handling, because `close` follows it.
    connection.on('error', () => undefined);
    const { method = '', url = '', headers, rawHeaders } = message;
    const arrived = { method, url, headers, rawHeaders, body: Buffer.alloc(0), isComplete: true, connection: 0, isUpgrade: true, closed };
    const { answer, faults } = await this.#exchanges.answer(this.#recipient, this.#exchanges.receive(this.#recipient, arrived));
    const stall = faultOfKind(faults, 'stall-upgrade');
    const early =
      stall === undefined
        ? Buffer.alloc(0)
        : await readDuring(connection, wait(stall.ms, this.#exchanges.delivery(this.#recipient, gone.signal)));
    if (gone.signal.aborted) return;
    if (faultOfKind(faults, 'reset-upgrade') !== undefined) return cut('reset');
    end('answered');
    if (answer.status !== 101) return refuse(connection, answer);
    this.#upgrading.delete(cut);
    this.#accept(message, connection, Buffer.concat([head, early]), answer);
  }

  #accept(message: IncomingMessage, connection: Socket, head: Buffer, { headers }: SimulatedAnswer): void {
    this.#headers.set(message, headers);
    this.#server.handleUpgrade(message, connection, head, (websocket) => this.#attach(message, connection, websocket));
    // The connection may be paused by a stall.
    connection.resume();
  }

  #attach(message: IncomingMessage, connection: Socket, websocket: WebSocket): void {
    this.#accepted += 1;
    const socket = new AccountSocket(this.#accepted, { websocket, connection, openedAt: this.#exchanges.clock.now() });
    this.#open.add(socket);
    websocket.on('close', () => this.#open.delete(socket));
    websocket.on('message', (data: Buffer, isBinary: boolean) => void this.#serve(socket, message, data, isBinary));
  }

  async #serve(socket: AccountSocket, message: IncomingMessage, body: Buffer, isBinary: boolean): Promise<void> {
    const { url = '', headers, rawHeaders } = message;
    const json = isBinary ? undefined : (parsedJson(body.toString()) as Json | undefined);
    const control = this.#recipient.account.manners.controlFrames && isControl(json) ? json : undefined;
    const isTurn = isObject(json) && json.type === 'response.create';
    const wrong =
      control !== undefined
        ? undefined
        : socket.isBusy
          ? refusalFrame('response_in_progress', 'A response is in progress on this websocket.')
          : isTurn
            ? undefined
            : refusalFrame('invalid_event', "A frame must be a JSON object of type 'response.create'.");
    const begins = isTurn && wrong === undefined;
    const closed = begins ? socket.begin() : Promise.resolve<RequestEnd>('answered');
    const arrived = { method: 'WS', url, headers, rawHeaders, body, isComplete: true, connection: socket.number, isUpgrade: false, closed };
    const request = this.#exchanges.receive(this.#recipient, { ...arrived, isTurn: begins });
    if (control) {
      const answer = answerControl(control, socket.controlled, this.#exchanges.ids);
      return answer && socket.insert(answer);
    }
    if (wrong !== undefined) return socket.insert(wrong);
    if (this.#isExpired(socket)) {
      socket.end();
      return expire(socket);
    }
    await this.#turn(socket, request);
  }

  #isExpired({ openedAt }: AccountSocket): boolean {
    return this.#recipient.account.manners.connectionLimit && this.#exchanges.clock.now() - openedAt >= LONGEST_MS;
  }

  /** Answers a turn, and then the further response that its steers ask for. */
  async #turn(socket: AccountSocket, request: ReceivedRequest): Promise<void> {
    const { answer, faults } = await this.#exchanges.answer(this.#recipient, request, socket.anchors);
    const id = responseIdOf(answer);
    const running = new RunningTurn(answer.body, frameSteps(answer, faults, this.#recipient.account.manners));
    const controlled = { running, faults };
    socket.controlled = controlled;
    const delivery = { ...this.#exchanges.delivery(this.#recipient, socket.closed), hurried: running.hurried };
    const ended = request.closed.then((how) => how === 'answered');
    await deliver(running, socket, delivery);
    if (socket.isBusy || !(await ended)) return;
    if (id !== undefined) socket.anchors.set(id, isObject(request.json) ? toolsItems(request.json, socket.anchors) : []);
    for (const frame of id === undefined ? [] : unusedSteers(controlled, id, outputOf(answer))) socket.insert(frame);
    const input = steeredInput(running);
    if (input.length > 0 && isObject(request.json)) {
      const json = { ...request.json, previous_response_id: id ?? null, input };
      return await this.#turn(socket, { ...request, json, body: Buffer.from(JSON.stringify(json)), closed: socket.begin() });
    }
    if (this.#isExpired(socket)) expire(socket);
    else if (faultOfKind(faults, 'limit-between-turns') !== undefined) socket.insert(limitFrame());
  }
}

/**
 * Reads from a connection while it waits, because the end of a connection is noticed only by reading.
 * @returns the bytes that arrived during the wait
 */
async function readDuring(connection: Socket, waiting: Promise<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const onData = (chunk: Buffer): void => void chunks.push(chunk);
  const onEnd = (): void => void connection.destroy();
  connection.on('data', onData).once('end', onEnd);
  await waiting;
  connection.off('data', onData).off('end', onEnd).pause();
  return Buffer.concat(chunks);
}

/** The id of a finished response. */
function responseIdOf(answer: SimulatedAnswer): string | undefined {
  const id = finalResponse(answer)?.id;
  return typeof id === 'string' ? id : undefined;
}

/** The items of a response. Its terminal event need not have them. */
const outputOf = ({ body }: SimulatedAnswer): readonly Json[] =>
  body.kind === 'events'
    ? body.events.flatMap((event) =>
        isObject(event) && isObject(event.item) && event.type === 'response.output_item.done' ? [event.item] : [],
      )
    : [];

function finalResponse({ body }: SimulatedAnswer): JsonObject | undefined {
  const last = body.kind === 'events' ? body.events.at(-1) : undefined;
  return isObject(last) && isObject(last.response) && last.type !== 'response.failed' ? last.response : undefined;
}

/** Ends a connection whose time limit has passed: sends the frame about the limit, and closes (RB28). */
function expire(socket: AccountSocket): void {
  socket.insert(limitFrame());
  socket.leave({ code: 1000 });
}

/** Sends a refusal as HTTP; the connection ends with it. */
function refuse(connection: Socket, { status, headers, body }: SimulatedAnswer): void {
  const bytes = body.kind === 'bytes' ? body.bytes : Buffer.alloc(0);
  const fields = { ...headers, 'content-length': bytes.length, connection: 'close' };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`);
  connection.end(bytes);
  // Further bytes of the client are read and dropped, because the end of the connection is noticed only by reading.
  connection.resume();
}
