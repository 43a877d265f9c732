// Runs the turns of one client websocket in the order of its frames, one at a time, unless another node runs them (Q28).
import { Refusal } from '../../turn/errors/refusal.ts';
import type { JsonMemory } from '../http/bodies/json-body.ts';
import { frameUse } from './controls/control-frame.ts';
import { beginsAsTurn, type Frame, parseFrame, parseLargeFrame, releaseFrame, type TurnFrame } from './frame.ts';
import { WaitingFrames } from './waiting-frames.ts';

/** The functions that handle the frames of a connection. */
export interface FrameHandlers extends JsonMemory {
  /** Reads a message that another node forwards; undefined if it is not a frame. Absent if messages are frames of the client itself. */
  readonly read?: ((data: Buffer) => Frame | undefined) | undefined;
  /** Runs the turn of a frame. Never rejects. */
  readonly serve: (frame: Frame) => Promise<void>;
  /** Handles a frame about the running response. It never waits. */
  readonly control: (frame: TurnFrame) => void;
  /** Answers a frame that does not become a turn. */
  readonly refuse: (refusal: Refusal, frame: Frame | undefined) => void;
}

/** A connection that can stop reading. */
interface Readable {
  readonly isOpen: boolean;
  pause(): void;
  resume(): void;
}

/** The result of reading a message at once. */
interface Read {
  readonly frame: Frame | undefined;
}

export class FrameQueue {
  readonly #connection: Readable;
  readonly #handlers: FrameHandlers;
  readonly #ended: () => void;
  readonly #waiting: WaitingFrames;
  /** The frames after one that is parsed in parts. */
  readonly #unread: WaitingFrames;
  #running = false;
  #reading = false;
  #forwards = false;
  readonly #left = new AbortController();

  /** @param ended called when a turn has ended and no other one waits */
  constructor(connection: Readable, handlers: FrameHandlers, ended: () => void) {
    this.#connection = connection;
    this.#handlers = handlers;
    this.#ended = ended;
    const displaced = (refusal: Refusal): void => handlers.refuse(refusal, undefined);
    this.#waiting = new WaitingFrames(handlers, displaced);
    this.#unread = new WaitingFrames(handlers, displaced);
  }

  /** Whether a turn is running, or a frame is being read that may become one. */
  get isRunning(): boolean {
    return this.#running || this.#reading;
  }

  take(data: Buffer): void {
    if (!this.#reading) {
      this.#accept(data);
      return;
    }
    const refusal = this.#unread.add(data);
    if (refusal) this.#handlers.refuse(refusal, undefined);
  }

  /** Serves all frames as they come from now on, including waiting ones. */
  forward(): void {
    this.#forwards = true;
    for (let data = this.#waiting.shift(); data; data = this.#waiting.shift()) this.take(data);
  }

  /** Drops the waiting frames and the one that is parsed, because the client left. */
  clear(): void {
    this.#left.abort(new Refusal('invalid_request'));
    this.#waiting.clear();
    this.#unread.clear();
  }

  get #waits(): boolean {
    return this.#running && !this.#forwards;
  }

  #accept(data: Buffer): void {
    if (this.#waits && beginsAsTurn(data)) {
      this.#wait(data);
      return;
    }
    const read = this.#read(data);
    if (read) this.#accepted(data, this.#turnOf(read.frame));
    else void this.#readLarge(data);
  }

  #accepted(data: Buffer, frame: Frame | undefined): void {
    if (!frame) return;
    if (this.#waits) {
      releaseFrame(frame);
      this.#wait(data);
    } else if (this.#forwards) void this.#serve(frame);
    else void this.#run(frame);
  }

  /** Parses a large frame in parts, and then the frames that were read with it. The connection is not read until the large frame is parsed. */
  async #readLarge(data: Buffer): Promise<void> {
    this.#reading = true;
    this.#connection.pause();
    const frame = await parseLargeFrame(data, this.#handlers, this.#left.signal);
    this.#reading = false;
    // First, because the handler of the frame may pause it again.
    this.#connection.resume();
    if (this.#connection.isOpen) this.#accepted(data, this.#turnOf(frame));
    else releaseFrame(frame);
    while (!this.#reading) {
      const next = this.#unread.shift();
      if (!next) break;
      this.#accept(next);
    }
    if (!this.isRunning) this.#ended();
  }

  /** Parses a message that is small, or that another node has checked; undefined for other messages. */
  #read(data: Buffer): Read | undefined {
    const { read } = this.#handlers;
    if (read) return { frame: read(data) };
    const frame = parseFrame(data, this.#handlers);
    return frame && { frame };
  }

  /** Undefined for a frame that is not a turn. It concerns the running response, or is ignored. */
  #turnOf(frame: Frame | undefined): Frame | undefined {
    const { control, counters } = this.#handlers;
    if (!frame || frame instanceof Refusal) return frame;
    const use = frameUse(frame.json);
    if (use === 'turn') return frame;
    if (use === 'control') control(frame);
    else counters.add(use === 'unused' ? 'websocket_frames_unused' : 'websocket_frames_ignored');
    releaseFrame(frame);
    return undefined;
  }

  /**
   * Lets a frame wait unparsed until it is served. If it does not begin with its type, it is parsed now, so that ignored frames do not
   * wait.
   */
  #wait(data: Buffer): void {
    const refusal = this.#connection.isOpen ? this.#waiting.add(data) : undefined;
    if (!refusal) return;
    const read = this.#read(data);
    const frame = read && this.#turnOf(read.frame);
    this.#handlers.refuse(refusal, frame);
    if (frame) releaseFrame(frame);
  }

  async #run(first: Frame): Promise<void> {
    this.#running = true;
    for (let frame: Frame | undefined = first; frame && this.#connection.isOpen; frame = await this.#next()) {
      await this.#serve(frame);
    }
    this.#running = false;
    if (!this.#reading) this.#ended();
  }

  async #serve(frame: Frame): Promise<void> {
    await this.#handlers.serve(frame);
    releaseFrame(frame);
  }

  async #next(): Promise<Frame | undefined> {
    for (let data = this.#waiting.shift(); data; data = this.#waiting.shift()) {
      const read = this.#read(data) ?? { frame: await parseLargeFrame(data, this.#handlers, this.#left.signal) };
      const frame = this.#turnOf(read.frame);
      if (frame) return frame;
    }
    return undefined;
  }
}
