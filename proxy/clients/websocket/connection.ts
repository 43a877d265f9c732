// One client websocket: its frames in order, one turn at a time, and how the connection ends (Q28).
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Batches } from '../../batch.ts';
import type { Clock } from '../../clock.ts';
import { frameBytes } from '../../frame-bytes.ts';
import { Refusal } from '../../turn/refusal.ts';
import type { Body, ModeDecision } from '../../turn/turn.ts';
import { SocketSlot } from '../../upstream/socket-slot.ts';
import { has } from '../../upstream/type-peek.ts';
import { parseBody } from '../http/json-body.ts';
import { ArrivingBytes } from './arriving-bytes.ts';
import { type FrameMemory, WaitingFrames } from './waiting-frames.ts';

/** Close codes of RFC 6455, and of its registry. */
export const CLOSE = { goingAway: 1001, unsupportedData: 1003, policy: 1008, internalError: 1011, tryAgainLater: 1013 } as const;

/** Bytes written and not yet taken by the client: more stop the reply, which goes on when they are written. */
const FULL_BYTES = 1_048_576;

/** How most clients begin a frame. */
const TURN_HEAD = '{"type":"response.create"';

/** A `response.create` frame; a refusal where its bytes are no JSON object. */
export type Frame = { readonly json: Body; readonly bytes: number; readonly mode?: ModeDecision } | Refusal;

/** The end of a connection, when its running turn has ended. */
export interface Ending {
  readonly code: number;
  readonly reason: string;
}

/** How the connection was ended by a limit of its own. */
export type BrokenLimit = 'idle' | 'frame_too_large';

export interface ConnectionOptions extends FrameMemory {
  readonly ws: WebSocket;
  readonly socket: Socket;
  /** The idle window, as it was at the upgrade. */
  readonly idleMs: number;
  readonly clock: Clock;
  readonly batches: Batches;
  /** Reads a message that another node forwards; undefined where it is no frame. Without it messages are frames of the client itself. */
  readonly read?: ((data: Buffer, connection: WebsocketConnection) => Frame | undefined) | undefined;
  /** Runs the turn of a frame. Never rejects. */
  readonly serve: (frame: Frame, connection: WebsocketConnection) => Promise<void>;
  /** Answers a frame that gets no turn. */
  readonly refuse: (refusal: Refusal, connection: WebsocketConnection, frame: Frame | undefined) => void;
  readonly limitBroken: (limit: BrokenLimit) => void;
}

export class WebsocketConnection {
  #upstreamSocket = new SocketSlot();
  readonly #options: ConnectionOptions;
  readonly #arriving: ArrivingBytes;
  readonly #waiting: WaitingFrames;
  /** Bytes of frames that are about to be written. */
  #departing = 0;
  #activeAt: number;
  #running = false;
  #ending: Ending | undefined;
  #forwarded: ((ending: Ending) => void) | undefined;
  #cancelIdle: () => void;

  constructor(options: ConnectionOptions) {
    const { ws, socket, clock } = options;
    this.#options = options;
    this.#arriving = new ArrivingBytes(options);
    this.#waiting = new WaitingFrames(options);
    this.#activeAt = clock.now();
    this.#cancelIdle = this.#watchIdle(options.idleMs);
    // Before the listener of ws, which delivers the frames that a chunk completes.
    socket.prependListener('data', (chunk: Buffer) => this.#arrived(chunk.length));
    ws.on('message', (data: Buffer, isBinary) => this.#frame(data, isBinary));
    for (const control of ['ping', 'pong'] as const) ws.on(control, (data: Buffer) => this.#arriving.releaseControl(data.length));
    ws.on('error', (error: NodeJS.ErrnoException) => this.#failed(error));
    ws.on('close', () => this.#closed());
  }

  /** Its upstream websocket. */
  get upstreamSocket(): SocketSlot {
    return this.#upstreamSocket;
  }

  /** Gives its upstream websocket to a turn that goes on without the connection. */
  handOver(): SocketSlot {
    const socket = this.#upstreamSocket;
    this.#upstreamSocket = new SocketSlot();
    return socket;
  }

  /** Takes the upstream websocket of such a turn, in place of its own. */
  takeOver(socket: SocketSlot): void {
    this.#upstreamSocket.close();
    this.#upstreamSocket = socket;
  }

  /** Whether frames can be sent. */
  get isOpen(): boolean {
    return this.#options.ws.readyState === this.#options.ws.OPEN;
  }

  /** Bytes that the client has not taken yet. */
  get heldBytes(): number {
    return this.#options.ws.bufferedAmount + this.#departing;
  }

  /** Sends frames in one write. Returns false where the client is slow; `onDrain` then says when to go on. */
  send(frames: readonly (string | Buffer)[]): boolean {
    const { socket, batches, clock } = this.#options;
    if (!this.isOpen) return true;
    this.#activeAt = clock.now();
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

  /** Calls `closed` when the connection is gone. Returns the undo. */
  onClosed(closed: () => void): () => void {
    const { ws } = this.#options;
    ws.once('close', closed);
    return () => ws.off('close', closed);
  }

  /** Ends the connection at once: a reply broke off. */
  close(code: number, reason = ''): void {
    const { batches, ws } = this.#options;
    this.#ending = { code, reason };
    batches.departures.flush();
    ws.close(code, reason);
  }

  /** Ends the connection when the running turn has ended. */
  closeAfterTurn(code: number, reason: string): void {
    if (this.#forwarded) this.#forwarded({ code, reason });
    else if (!this.#running) this.close(code, reason);
    else this.#ending ??= { code, reason };
  }

  /** Whether another node forwards it here: it has chosen this one for its session. */
  get isFromNode(): boolean {
    return this.#options.read !== undefined;
  }

  /**
   * From now on its turns run at another node: frames are served as they come, those that wait included.
   * @param end asks that node to end the connection when the running turn has ended
   */
  forward(end: (ending: Ending) => void): void {
    this.#forwarded = end;
    this.#upstreamSocket.close();
    for (let next = this.#next(); next; next = this.#next()) void this.#options.serve(next, this);
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
    if (!this.#arriving.add(bytes)) this.close(CLOSE.tryAgainLater, 'too many bytes are being received');
  }

  #frame(data: Buffer, isBinary: boolean): void {
    this.#arriving.release();
    if (this.#ending && !this.#running) return;
    const { batches, clock, counters } = this.#options;
    if (isBinary) {
      counters.add('websocket_frames_invalid');
      this.close(CLOSE.unsupportedData, 'frames are text');
      return;
    }
    this.#activeAt = clock.now();
    batches.arrivals.add(() => this.#take(data), data.length);
  }

  #take(data: Buffer): void {
    if (this.#ending && !this.#running) return;
    const waits = this.#running && !this.#forwarded;
    if (waits && has(data, 0, TURN_HEAD)) {
      this.#wait(data);
      return;
    }
    const frame = this.#turnIn(data);
    if (!frame) return;
    if (waits) this.#wait(data);
    else if (this.#forwarded) void this.#options.serve(frame, this);
    else void this.#run(frame);
  }

  /** Undefined for a frame of another type: it is ignored. */
  #turnIn(data: Buffer): Frame | undefined {
    const { counters, read } = this.#options;
    const frame = read ? read(data, this) : parsed(data);
    if (!frame || frame instanceof Refusal || frame.json.type === 'response.create') return frame;
    counters.add('websocket_frames_ignored');
    return undefined;
  }

  /** It is parsed when its turn comes. One that does not begin with its type was parsed before too: a frame that is ignored takes no place. */
  #wait(data: Buffer): void {
    const refusal = this.isOpen ? this.#waiting.add(data) : undefined;
    if (refusal) this.#options.refuse(refusal, this, this.#turnIn(data));
  }

  async #run(first: Frame): Promise<void> {
    this.#running = true;
    for (let frame: Frame | undefined = first; frame && this.isOpen; frame = this.#next()) await this.#options.serve(frame, this);
    this.#running = false;
    this.#activeAt = this.#options.clock.now();
    const { ws } = this.#options;
    // While it closes, the turn may still take the upstream websocket along: that is done when it has closed.
    if (ws.readyState === ws.CLOSED) this.#closeUpstream();
    else if (this.#ending) this.close(this.#ending.code, this.#ending.reason);
  }

  /** Unless a turn takes it along that goes on without the connection. */
  #closeUpstream(): void {
    queueMicrotask(() => this.#running || this.#upstreamSocket.close());
  }

  #next(): Frame | undefined {
    for (let data = this.#waiting.shift(); data; data = this.#waiting.shift()) {
      const frame = this.#turnIn(data);
      if (frame) return frame;
    }
    return undefined;
  }

  #failed({ code }: NodeJS.ErrnoException): void {
    const { counters, limitBroken } = this.#options;
    if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') {
      counters.add('websocket_frames_too_large');
      limitBroken('frame_too_large');
    } else if (code === 'WS_ERR_INVALID_UTF8') counters.add('websocket_frames_invalid');
  }

  #closed(): void {
    this.#cancelIdle();
    this.#arriving.release();
    this.#waiting.clear();
    this.#closeUpstream();
  }

  /** Frames of either direction are activity, and a turn that runs is; pings are not. */
  #watchIdle(ms: number): () => void {
    const { clock, counters, idleMs, limitBroken } = this.#options;
    return clock.after(ms, () => {
      const left = this.#running ? idleMs : this.#activeAt + idleMs - clock.now();
      if (left > 0) {
        this.#cancelIdle = this.#watchIdle(left);
        return;
      }
      counters.add('websocket_idle_timeouts');
      limitBroken('idle');
      this.close(CLOSE.goingAway, 'idle');
    });
  }
}

function parsed(data: Buffer): Frame {
  try {
    return { json: parseBody(data), bytes: data.length };
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown;
    throw thrown;
  }
}
