// The client of one turn over a websocket: its frame, its reply as frames, and whether it has left.
import type { PipeEnd, TurnClient, Upload } from '../../dispatch/client.ts';
import { frameDataOf, Refusal } from '../../turn/errors/refusal.ts';
import { isObject, type JsonObject } from '../../turn/json/json.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { Sink } from '../../turn/reply/sink.ts';
import type { Ending } from '../../turn/reply/turn-result.ts';
import type { Body } from '../../turn/turn.ts';
import type { SocketSlot } from '../../upstream/carriers/websocket/socket-slot.ts';
import { TurnControls } from './controls/turn-controls.ts';
import { errorFrame } from './error-frame.ts';
import type { Frame } from './frame.ts';
import { FrameSink, PublicFrameSink } from './frame-sink.ts';
import { checkLane, inLane, laneOf } from './lane.ts';
import type { TurnLog } from './turn-log.ts';
import { TurnOutput } from './turn-output.ts';
import type { WebsocketConnection } from './websocket-connection.ts';

export class FrameClient implements TurnClient {
  readonly streams = true;
  readonly upstreamSocket: SocketSlot;
  readonly controls = new TurnControls((event) => this.#insert(event));
  protected readonly output: TurnOutput;
  /** Undefined when the turn has ended. */
  #turn: LiveTurn | undefined;
  /** The client's frame. It is dropped when it has been read, because the turn lasts longer. */
  #frame: Frame | undefined;
  /** The lane of a frame on the compatible surface. */
  readonly #lane: string | undefined;
  #connection: WebsocketConnection | undefined;
  #unwatch: () => void = () => undefined;
  #gone = false;
  #isStopped = false;
  #bodyBytes = 0;
  #isLarge = false;
  /** The frame whose members a further response inherits; undefined before it was read. */
  #settings: Body | undefined;
  #sink: FrameSink | undefined;
  readonly #left = new Set<() => void>();

  /** @param log the log of a turn for which its client may reconnect */
  constructor(turn: LiveTurn, frame: Frame, connection: WebsocketConnection, log?: TurnLog) {
    this.upstreamSocket = connection.upstreamSocket;
    this.output = new TurnOutput(connection, log);
    this.#turn = turn;
    this.#frame = frame;
    this.#lane = turn.surface.numbersEvents && !(frame instanceof Refusal) ? laneOf(frame.json) : undefined;
    this.connect(connection);
  }

  /** Read only while the turn runs. */
  get turn(): LiveTurn {
    if (!this.#turn) throw new Error('the turn has ended');
    return this.#turn;
  }

  /** The members of the frame that a further response after a steer inherits. */
  get settings(): Body {
    return { ...this.#settings };
  }

  /** Undefined while the turn runs without its client. */
  get currentConnection(): WebsocketConnection | undefined {
    return this.#connection;
  }

  /** Whether the client is connected by this connection. */
  isAt(connection: WebsocketConnection): boolean {
    return this.#connection === connection;
  }

  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  get isLarge(): boolean {
    return this.#isLarge;
  }

  get shown(): boolean {
    return this.output.shown;
  }

  get gone(): boolean {
    return this.#gone;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Stops the turn, because the time of a drain has passed. */
  stop(): void {
    this.#isStopped = true;
    this.#endWaits();
  }

  /** The frame without its type and its lane. It can be read once. @throws Refusal */
  async json(): Promise<Body> {
    const frame = this.#frame;
    this.#frame = undefined;
    if (!frame || frame instanceof Refusal) throw frame ?? new Error('the frame was read before');
    this.#bodyBytes = frame.bytes;
    this.#isLarge = frame.isLarge === true;
    this.#settings = frame.json;
    if (this.turn.surface.numbersEvents) checkLane(frame.json);
    const { type: _, stream_id: __, ...body } = frame.json;
    return body;
  }

  form(): Promise<never> {
    throw new Error('a frame is no form');
  }

  parts(): Promise<never> {
    throw new Error('a frame is no form');
  }

  upload(): (() => Upload) | null {
    throw new Error('a frame is no upload');
  }

  sink(): Sink {
    this.#sink = this.turn.surface.numbersEvents ? new PublicFrameSink(this.output, this.#lane) : new FrameSink(this.output);
    return this.#sink;
  }

  /** Sends the refusal of an account. */
  answer(status: number, _headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    this.#send(errorFrame(objectIn(body), status));
  }

  /** Sends a refusal. After a part of the reply was sent, it ends the connection instead. */
  refuse(refusal: Refusal): void {
    if (this.shown) this.output.breakOff();
    else this.#send(frameDataOf(refusal));
  }

  breakOff(): void {
    this.output.breakOff();
  }

  pipe(): Promise<PipeEnd> {
    throw new Error('a websocket takes no bytes');
  }

  onGone(left: () => void): () => void {
    if (this.#gone || this.#isStopped) {
      left();
      return () => undefined;
    }
    this.#left.add(left);
    return () => this.#left.delete(left);
  }

  /** Called when the turn's row is written. */
  ended(_ending: Ending): void {
    this.release();
    this.disconnect();
  }

  /** Drops what only a running turn needs, because the connection may last for hours. */
  protected release(): void {
    this.#turn = undefined;
    this.#settings = undefined;
    this.#sink = undefined;
  }

  protected connect(connection: WebsocketConnection): void {
    this.#connection = connection;
    if (!connection.isOpen) this.disconnected(connection);
    else this.#unwatch = connection.onClosed(() => this.disconnected(connection));
  }

  protected disconnect(): void {
    this.#unwatch();
    this.#connection = undefined;
  }

  /** Called when the connection is gone. */
  protected disconnected(_connection: WebsocketConnection): void {
    this.leave();
  }

  /** Called when the client will not see the rest of its turn. */
  protected leave(): void {
    this.#gone = true;
    this.#endWaits();
  }

  #endWaits(): void {
    const left = [...this.#left];
    this.#left.clear();
    for (const each of left) each();
  }

  /** Sends an event of the gateway's own, after the events of the reply so far. */
  #insert(event: JsonObject): void {
    if (!this.#sink || !this.shown) {
      this.#connection?.send([JSON.stringify(inLane(event, this.#lane))]);
      return;
    }
    this.#sink.event({ type: String(event.type), data: event });
    this.#sink.flush();
  }

  #send(data: JsonObject): void {
    this.output.write('error', JSON.stringify(inLane(data, this.#lane)));
    this.output.flush();
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
