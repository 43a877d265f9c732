// One client websocket: its incoming and outgoing frames, its upstream websocket, and how the connection ends (Q28).
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { frameBytes } from '../../base/bytes/frame-bytes.ts';
import type { Batches } from '../../base/process/batch.ts';
import { dropArrivals, joinParts, unmaskByWords } from '../../base/process/internals/ws-internals.ts';
import type { CounterName } from '../../base/process/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import { SocketSlot } from '../../upstream/carriers/websocket/socket-slot.ts';
import { CLOSE } from './close-codes.ts';
import { type FrameHandlers, FrameQueue } from './frame-queue.ts';
import { IdleWatch } from './idle-watch.ts';
import { ArrivingBytes, MessageLimits } from './message-limits.ts';

/** The bytes that the client has not read yet at which a reply stops until they are sent. */
const FULL_BYTES = 1_048_576;

/** How a connection will end after its running turn. */
export interface ConnectionEnding {
  readonly code: number;
  readonly reason: string;
}

/** The limit of the connection itself that ended it. */
export type BrokenLimit = 'idle' | 'frame_too_large';

export interface ConnectionOptions extends FrameHandlers {
  readonly ws: WebSocket;
  readonly socket: Socket;
  /** The idle timeout at the time of the upgrade. */
  readonly idleMs: number;
  /** The longest time of a message, as configured at the time of the upgrade. */
  readonly messageMs: number;
  readonly clock: Clock;
  readonly batches: Batches;
  readonly limitBroken: (limit: BrokenLimit) => void;
}

export class WebsocketConnection {
  #upstreamSocket = new SocketSlot();
  readonly #options: ConnectionOptions;
  readonly #arriving: ArrivingBytes;
  readonly #messages: MessageLimits;
  readonly #frames: FrameQueue;
  /** The bytes of frames that are about to be written. */
  #departing = 0;
  #ending: ConnectionEnding | undefined;
  readonly #idle: IdleWatch;

  constructor(options: ConnectionOptions) {
    const { ws, socket, clock } = options;
    this.#options = options;
    this.#arriving = new ArrivingBytes(options, () => this.#displaced());
    this.#messages = new MessageLimits({
      clock,
      messageMs: options.messageMs,
      controls: options.limits.websocket_controls,
      exceeded: (counter) => this.#refused(counter),
    });
    joinParts(ws);
    unmaskByWords(ws);
    this.#frames = new FrameQueue(this, options, () => this.#turnsEnded());
    this.#idle = new IdleWatch({ clock, idleMs: options.idleMs, isRunning: () => this.#frames.isRunning, expired: () => this.#expired() });
    // Added before the listener of ws, which delivers the frames that a chunk completes.
    socket.prependListener('data', (chunk: Buffer) => this.#arrived(chunk.length));
    ws.on('message', (data: Buffer, isBinary) => this.#message(data, isBinary));
    // Added after the listener of ws, because it looks at what is left of an incomplete message.
    socket.on('data', () => this.#messages.arrived(this.#arriving.isIncomplete));
    for (const control of ['ping', 'pong'] as const) ws.on(control, (data: Buffer) => this.#control(data.length));
    ws.on('error', (error: NodeJS.ErrnoException) => this.#failed(error));
    ws.on('close', () => this.#closed());
  }

  /** The client's upstream websocket. */
  get upstreamSocket(): SocketSlot {
    return this.#upstreamSocket;
  }

  /** Gives the upstream websocket to a turn that continues without the connection. */
  handOver(): SocketSlot {
    const socket = this.#upstreamSocket;
    this.#upstreamSocket = new SocketSlot();
    return socket;
  }

  /** Replaces the upstream websocket with the one of such a turn. */
  takeOver(socket: SocketSlot): void {
    this.#upstreamSocket.end();
    this.#upstreamSocket = socket;
  }

  /** Whether frames can be sent. */
  get isOpen(): boolean {
    return this.#options.ws.readyState === this.#options.ws.OPEN;
  }

  /** Bytes that the client has not read yet. */
  get heldBytes(): number {
    return this.#options.ws.bufferedAmount + this.#departing;
  }

  /** Sends frames in one write. Returns false if the client is slow; `onDrain` then reports when to continue. */
  send(frames: readonly (string | Buffer)[]): boolean {
    const { socket, batches } = this.#options;
    if (!this.isOpen) return true;
    this.#idle.active();
    const bytes = frameBytes(frames);
    this.#departing += bytes.length;
    const write = (): void => {
      this.#departing -= bytes.length;
      if (this.isOpen) socket.write(bytes);
    };
    batches.departures.add(write, bytes.length);
    return this.heldBytes < FULL_BYTES;
  }

  onDrain(resume: () => void): void {
    this.#options.socket.once('drain', resume);
  }

  /** Calls `closed` when the connection is gone. Returns a function that cancels this. */
  onClosed(closed: () => void): () => void {
    const { ws } = this.#options;
    ws.on('close', closed);
    return () => ws.off('close', closed);
  }

  /** Ends the connection at once, because a reply broke off. */
  close(code: number, reason = ''): void {
    const { batches, ws } = this.#options;
    this.#ending = { code, reason };
    batches.departures.flush();
    ws.close(code, reason);
  }

  /** Ends the connection when the running turn has ended. */
  closeAfterTurn(code: number, reason: string): void {
    if (!this.#frames.isRunning) this.close(code, reason);
    else this.#ending ??= { code, reason };
  }

  /** Keeps the connection open, because its key or endpoint can be used again before the running turn has ended. */
  keepOpen(): void {
    if (this.#frames.isRunning && this.#ending?.code === CLOSE.policy) this.#ending = undefined;
  }

  /** Serves every frame as it comes, and the waiting frames too, because another node has the client's turns. */
  forward(): void {
    this.#upstreamSocket.close();
    this.#frames.forward();
  }

  /** Stops reading. */
  pause(): void {
    this.#options.ws.pause();
  }

  resume(): void {
    this.#options.ws.resume();
  }

  terminate(): void {
    this.#options.ws.terminate();
  }

  #arrived(bytes: number): void {
    if (!this.#arriving.add(bytes)) this.#dropFrame();
  }

  /** Drops the incomplete frame, to make room for a body of another key. */
  #displaced(): void {
    this.#options.counters.add('bodies_displaced');
    this.#dropFrame();
  }

  #dropFrame(): void {
    const { socket, ws } = this.#options;
    this.close(CLOSE.tryAgainLater, 'too many bytes are being received');
    // A client reads the close frame only after it has sent its frame, whose bytes are dropped.
    dropArrivals(ws, socket);
  }

  #control(payloadBytes: number): void {
    this.#arriving.releaseControl(payloadBytes);
    this.#messages.control();
  }

  /** Ends the connection because a message has too many parts, or takes too long. */
  #refused(counter: CounterName): void {
    this.#options.counters.add(counter);
    this.close(CLOSE.policy, 'the message takes too long, or has too many parts');
    dropArrivals(this.#options.ws, this.#options.socket);
  }

  #message(data: Buffer, isBinary: boolean): void {
    this.#arriving.release();
    if (this.#takesNoMore) return;
    const { batches, counters } = this.#options;
    if (isBinary) {
      counters.add('websocket_frames_invalid');
      this.close(CLOSE.unsupportedData, 'frames are text');
      return;
    }
    this.#idle.active();
    batches.arrivals.add(() => this.#take(data), data.length);
  }

  #take(data: Buffer): void {
    if (!this.#takesNoMore) this.#frames.take(data);
  }

  /** Whether the connection is about to end, and no running turn will be answered before. */
  get #takesNoMore(): boolean {
    return this.#ending !== undefined && !this.#frames.isRunning;
  }

  #turnsEnded(): void {
    this.#idle.active();
    const { ws } = this.#options;
    // Until the connection has closed, a detached turn may still take its upstream websocket.
    if (ws.readyState === ws.CLOSED) this.#closeUpstream();
    else if (this.#ending) this.close(this.#ending.code, this.#ending.reason);
  }

  /** Closes the upstream websocket, unless a turn that continues without the connection takes it. */
  #closeUpstream(): void {
    queueMicrotask(() => this.#frames.isRunning || this.#upstreamSocket.end());
  }

  #failed({ code }: NodeJS.ErrnoException): void {
    const { counters, limitBroken } = this.#options;
    if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') {
      counters.add('websocket_frames_too_large');
      limitBroken('frame_too_large');
    } else if (code === 'WS_ERR_TOO_MANY_BUFFERED_PARTS') counters.add('websocket_fragments_refused');
    else if (code === 'WS_ERR_INVALID_UTF8') counters.add('websocket_frames_invalid');
  }

  #closed(): void {
    this.#idle.end();
    this.#messages.end();
    this.#arriving.release();
    this.#frames.clear();
    this.#closeUpstream();
  }

  #expired(): void {
    const { counters, limitBroken } = this.#options;
    counters.add('websocket_idle_timeouts');
    limitBroken('idle');
    this.close(CLOSE.goingAway, 'idle');
  }
}
