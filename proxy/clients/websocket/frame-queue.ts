// The turns of one client websocket in the order of its frames: one at a time, unless another node runs them (Q28).
import { Refusal } from '../../turn/errors/refusal.ts';
import { useOf } from './controls/control-frame.ts';
import { beginsAsTurn, type Frame, parseFrame, type TurnFrame } from './frame.ts';
import { type FrameMemory, WaitingFrames } from './waiting-frames.ts';

/** The functions that handle the frames of a connection. */
export interface FrameHandlers<Connection> extends FrameMemory {
  /** Reads a message that another node forwards; undefined where it is not a frame. Without it messages are frames of the client itself. */
  readonly read?: ((data: Buffer, connection: Connection) => Frame | undefined) | undefined;
  /** Runs the turn of a frame. Never rejects. */
  readonly serve: (frame: Frame, connection: Connection) => Promise<void>;
  /** Takes a frame about the response that runs. It never waits. */
  readonly control: (frame: TurnFrame, connection: Connection) => void;
  /** Answers a frame that gets no turn. */
  readonly refuse: (refusal: Refusal, connection: Connection, frame: Frame | undefined) => void;
}

export class FrameQueue<Connection extends { readonly isOpen: boolean }> {
  readonly #connection: Connection;
  readonly #handlers: FrameHandlers<Connection>;
  readonly #ended: () => void;
  readonly #waiting: WaitingFrames;
  #running = false;
  #forwards = false;

  /** @param ended called when a turn has ended and no other one waits */
  constructor(connection: Connection, handlers: FrameHandlers<Connection>, ended: () => void) {
    this.#connection = connection;
    this.#handlers = handlers;
    this.#ended = ended;
    this.#waiting = new WaitingFrames(handlers, (refusal) => handlers.refuse(refusal, connection, undefined));
  }

  /** Whether a turn runs. */
  get isRunning(): boolean {
    return this.#running;
  }

  take(data: Buffer): void {
    const waits = this.#running && !this.#forwards;
    if (waits && beginsAsTurn(data)) {
      this.#wait(data);
      return;
    }
    const frame = this.#turnIn(data);
    if (!frame) return;
    if (waits) this.#wait(data);
    else if (this.#forwards) void this.#handlers.serve(frame, this.#connection);
    else void this.#run(frame);
  }

  /** From now on frames are served as they come, including waiting ones. */
  forward(): void {
    this.#forwards = true;
    for (let next = this.#next(); next; next = this.#next()) void this.#handlers.serve(next, this.#connection);
  }

  /** Drops the frames that wait. */
  clear(): void {
    this.#waiting.clear();
  }

  /** Undefined for a frame that is no turn: it is about the running response, or it is ignored. */
  #turnIn(data: Buffer): Frame | undefined {
    const { control, counters, read } = this.#handlers;
    const frame = read ? read(data, this.#connection) : parseFrame(data, this.#handlers);
    if (!frame || frame instanceof Refusal) return frame;
    const use = useOf(frame.json);
    if (use === 'turn') return frame;
    if (use === 'control') control(frame, this.#connection);
    else counters.add(use === 'unused' ? 'websocket_frames_unused' : 'websocket_frames_ignored');
    return undefined;
  }

  /**
   * Parsed when the frame is served. A frame that does not begin with its type is parsed earlier too, so that an ignored frame takes no
   * place.
   */
  #wait(data: Buffer): void {
    const refusal = this.#connection.isOpen ? this.#waiting.add(data) : undefined;
    if (refusal) this.#handlers.refuse(refusal, this.#connection, this.#turnIn(data));
  }

  async #run(first: Frame): Promise<void> {
    this.#running = true;
    for (let frame: Frame | undefined = first; frame && this.#connection.isOpen; frame = this.#next()) {
      await this.#handlers.serve(frame, this.#connection);
    }
    this.#running = false;
    this.#ended();
  }

  #next(): Frame | undefined {
    for (let data = this.#waiting.shift(); data; data = this.#waiting.shift()) {
      const frame = this.#turnIn(data);
      if (frame) return frame;
    }
    return undefined;
  }
}
