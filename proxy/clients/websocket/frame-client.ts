// The client of one turn over a websocket: its frame, its reply as frames, and the signal that it left.
import type { PipeEnd, Sink, TurnClient, Upload } from '../../dispatch/client.ts';
import { isObject, type JsonObject } from '../../turn/json.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import { frameOf, Refusal } from '../../turn/refusal.ts';
import type { Body } from '../../turn/turn.ts';
import type { SocketSlot } from '../../upstream/socket-slot.ts';
import type { Frame, WebsocketConnection } from './connection.ts';
import { errorFrame } from './error-frame.ts';
import { FrameSink } from './frame-sink.ts';
import { PublicFrameSink } from './public-frame-sink.ts';
import { TurnOutput } from './turn-output.ts';

export class FrameClient implements TurnClient {
  readonly streams = true;
  readonly upstreamSocket: SocketSlot;
  readonly #turn: LiveTurn;
  readonly #frame: Frame;
  readonly #connection: WebsocketConnection;
  readonly #output: TurnOutput;

  constructor(turn: LiveTurn, frame: Frame, connection: WebsocketConnection) {
    this.upstreamSocket = connection.upstreamSocket;
    this.#turn = turn;
    this.#frame = frame;
    this.#connection = connection;
    this.#output = new TurnOutput(connection);
  }

  get bodyBytes(): number {
    return this.#frame instanceof Refusal ? 0 : this.#frame.bytes;
  }

  get shown(): boolean {
    return this.#output.shown;
  }

  get gone(): boolean {
    return !this.#connection.isOpen;
  }

  /** The frame without its type. @throws Refusal */
  async json(): Promise<Body> {
    if (this.#frame instanceof Refusal) throw this.#frame;
    const { type: _, ...body } = this.#frame.json;
    return body;
  }

  upload(): (() => Upload) | null {
    throw new Error('a frame is no upload');
  }

  sink(): Sink {
    return this.#turn.surface.numbersEvents ? new PublicFrameSink(this.#output) : new FrameSink(this.#output);
  }

  /** A whole answer of an account: its refusal, or a response that it did not stream. */
  answer(status: number, _headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    const json = objectIn(body);
    this.#send(JSON.stringify(status < 400 ? { type: 'response.completed', response: json } : errorFrame(json, status)));
  }

  /** After a part of the reply was sent, the connection ends instead. */
  refuse(refusal: Refusal): void {
    if (this.shown) this.#output.breakOff();
    else this.#send(frameOf(refusal));
  }

  pipe(): Promise<PipeEnd> {
    throw new Error('a websocket takes no bytes');
  }

  onGone(left: () => void): () => void {
    if (this.gone) {
      left();
      return () => undefined;
    }
    return this.#connection.onClosed(left);
  }

  #send(frame: string): void {
    this.#output.write('error', frame);
    this.#output.flush();
  }
}

function objectIn(body: Buffer | string): JsonObject {
  try {
    const json: unknown = JSON.parse(body.toString());
    return isObject(json) ? json : {};
  } catch {
    return {};
  }
}
