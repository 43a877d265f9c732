// The frames on an account's websocket after the end of a response that was steered. They begin a further response, or state that there is
// none (RB31).
import type { IncomingMessage } from 'node:http';
import { type JsonObject, parsedObject } from '../../../turn/json/json.ts';
import { endOf } from '../../../turn/reply/terminal-event.ts';
import type { SocketUser } from './socket-user.ts';

/** The websocket on which the frames arrive. */
export interface FollowedSocket {
  pause(): void;
  resume(): void;
  /** Called when the frames have been read. The websocket stays open for the next turn. */
  leave(): void;
  destroy(): void;
}

export interface FollowingFramesOptions {
  /** Reads the answer to a steer. @returns whether all steers are answered, so no further response will come */
  readonly answered: (event: JsonObject) => boolean;
}

/** The most bytes that are kept. A provider sends quota and metadata before a response, and the rest of a read may come after the pause. */
const MOST_BYTES = 1_048_576;

const nothing = (): void => undefined;

export class FollowingFrames implements SocketUser {
  readonly memory = { hold: nothing, release: nothing };
  /** Resolves with whether a further response begins. */
  readonly decided: Promise<boolean>;
  readonly #options: FollowingFramesOptions;
  readonly #decide: (begins: boolean) => void;
  #socket: FollowedSocket | undefined;
  #follows: SocketUser | undefined;
  #frames: Buffer[] = [];
  #bytes = 0;
  #begins = false;

  constructor(options: FollowingFramesOptions) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.decided = promise;
    this.#options = options;
    this.#decide = resolve;
  }

  /** Called once, when the reply has ended on this websocket. */
  begin(socket: FollowedSocket, reply: SocketUser): void {
    this.#socket = socket;
    this.#follows = reply;
  }

  get follows(): SocketUser | undefined {
    return this.#follows;
  }

  opened(): void {}

  refused(response: IncomingMessage): void {
    response.destroy();
  }

  frame(bytes: Buffer): void {
    if (this.#begins) {
      this.#hold(bytes);
      return;
    }
    const event = parsedObject(bytes.toString());
    const type = typeof event?.type === 'string' ? event.type : '';
    if (event && type.startsWith('response.steer.')) {
      if (this.#options.answered(event)) this.#end();
    } else if (endOf(type) !== undefined) this.cancel();
    else {
      this.#hold(bytes);
      if (type === 'response.created') this.#announce();
    }
  }

  ended(): void {
    this.#socket = undefined;
    this.#decide(false);
  }

  /** The frames of the further response so far. A turn that reads it takes them. */
  take(): readonly Buffer[] {
    this.#socket = undefined;
    this.#follows = undefined;
    const frames = this.#frames;
    this.#frames = [];
    return frames;
  }

  /** Ends the websocket, because no turn reads the further response. */
  cancel(): void {
    this.#frames = [];
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#decide(false);
  }

  #announce(): void {
    this.#begins = true;
    this.#socket?.pause();
    this.#decide(true);
  }

  #end(): void {
    this.#frames = [];
    this.#socket?.leave();
    this.#socket = undefined;
    this.#decide(false);
  }

  #hold(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > MOST_BYTES) this.cancel();
    // Copied, because a frame may be a small part of a chunk, and a view would keep the whole chunk in memory.
    else if (this.#socket) this.#frames.push(Buffer.from(bytes));
  }
}
