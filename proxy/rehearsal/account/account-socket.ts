// One websocket of a simulated account. Answers are written to its connection as bytes, so that a fault can end them inside a frame.
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { frameBytes } from '../../base/bytes/frame-bytes.ts';
import type { Json } from '../../turn/json/json.ts';
import { type Line, untilDone } from '../delivery/delivery.ts';
import type { Leaving } from '../delivery/delivery-steps.ts';
import type { RequestEnd } from '../received-request.ts';
import type { ControlledTurn } from './control-frames.ts';

/** One exchange on the websocket: a frame and its answer. */
interface OpenExchange {
  end(how: RequestEnd): void;
}

interface OpenedSocket {
  /** The websocket. It sends no pongs of its own. */
  readonly websocket: WebSocket;
  readonly connection: Socket;
  /** Unix milliseconds. */
  readonly openedAt: number;
}

export class AccountSocket implements Line {
  /** The number of the websocket, counted from 1 over the account. */
  readonly number: number;
  /** Unix milliseconds. */
  readonly openedAt: number;
  /** The responses that a turn can continue, each with the items of its conversation that declare tools. */
  readonly anchors = new Map<string, readonly Json[]>();
  readonly #websocket: WebSocket;
  readonly #connection: Socket;
  readonly #closed = new AbortController();
  /** Frames that wait until a frame that is written in parts has ended. */
  readonly #waiting: Buffer[] = [];
  #isInsideFrame = false;
  #isSilent = false;
  #isCut = false;
  #turn: OpenExchange | undefined;
  /** The turn that is being delivered. Undefined before its answer is known. */
  controlled: ControlledTurn | undefined;

  constructor(number: number, { websocket, connection, openedAt }: OpenedSocket) {
    this.number = number;
    this.openedAt = openedAt;
    this.#websocket = websocket;
    this.#connection = connection;
    websocket.on('ping', (data: Buffer) => this.insert(frameBytes([data], 'pong')));
    // An error needs no handling, because a `close` event follows it.
    websocket.on('error', () => undefined);
    websocket.on('close', () => {
      this.#closed.abort();
      this.#turn?.end(this.#isCut ? 'cut' : 'left');
    });
  }

  /** Aborts when the websocket has closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  get isBusy(): boolean {
    return this.#turn !== undefined;
  }

  /** Begins a turn. The promise resolves when the turn ends, and states how it ended. */
  begin(): Promise<RequestEnd> {
    return new Promise((resolve) => {
      this.#turn = {
        end: (how) => {
          this.#turn = undefined;
          this.controlled = undefined;
          resolve(how);
        },
      };
    });
  }

  /** Sends a frame between the frames of the running turn. */
  insert(frame: Buffer): void {
    if (this.#isSilent || this.#websocket.readyState !== WebSocket.OPEN) return;
    if (this.#isInsideFrame) this.#waiting.push(frame);
    else this.#connection.write(frame);
  }

  /** Does nothing, because a websocket has no head. */
  head(): void {}

  write({ bytes, isPart = false }: { readonly bytes: Buffer; readonly isPart?: boolean }): boolean {
    if (this.#connection.writableCorked === 0) this.#connection.cork();
    let takesMore = this.#connection.write(bytes);
    this.#isInsideFrame = isPart;
    if (!isPart) for (const frame of this.#waiting.splice(0)) takesMore = this.#connection.write(frame);
    return takesMore;
  }

  async flushed(): Promise<void> {
    this.#connection.uncork();
    if (this.#connection.writableLength > 0) await untilDone((done) => void this.#connection.write('', done), this.closed);
  }

  end(): void {
    this.#connection.uncork();
    // Writes after the client left have no effect. The close of the websocket then ends the turn.
    if (!this.#connection.destroyed) this.#turn?.end('answered');
  }

  leave(how: Leaving): void {
    if (how === 'half-open') {
      this.#isSilent = true;
      // Incoming bytes are no longer read as frames, so no ping and no close is answered. The end of the connection is still noticed.
      this.#connection.removeAllListeners('data');
      this.#connection.on('data', () => undefined);
      return;
    }
    this.#isCut = true;
    if (how === 'close') this.#connection.destroy();
    else if (how === 'reset') this.#connection.resetAndDestroy();
    else this.#websocket.close(how.code);
  }

  /** Ends the connection without a close frame. */
  terminate(): void {
    this.#isCut = true;
    this.#websocket.terminate();
  }
}
