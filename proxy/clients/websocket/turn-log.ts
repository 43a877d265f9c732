// Keeps the frames of a turn from its beginning, for a client that reconnects for it (Q29).
import { OBJECT_BYTES, ownBytes } from '../../base/bytes/gathered-bytes.ts';
import type { MemoryGuard } from '../../base/bytes/memory-guard.ts';
import { isObject, type JsonObject } from '../../turn/json/json.ts';

/** The memory limits for the frames of a turn. */
export interface LogMemory {
  /** The limit for the frames of this turn. */
  readonly maxBytes: number;
  /** The bytes that all turns hold of their replies, which `maxReplies` limits. */
  readonly replies: MemoryGuard;
  readonly maxReplies: number;
}

/** The share of the memory for replies that kept frames may use. Running turns need the rest, and few clients reconnect. */
const SHARE = 0.5;

/** The memory of a kept frame besides its bytes: its buffer, its entry and its place (Q38). */
const LOGGED_BYTES = 3 * OBJECT_BYTES;

interface Logged {
  readonly type: string;
  readonly frame: string | Buffer;
}

const DONE = 'response.output_item.done';

export class TurnLog {
  readonly #memory: LogMemory;
  readonly #overflow: () => void;
  #frames: Logged[] = [];
  #bytes = 0;
  #isClosed = false;
  /** The number of frames that were written to the client's connection. */
  #sent = 0;

  /** @param overflow called once, if there is no room for a frame */
  constructor(memory: LogMemory, overflow: () => void) {
    this.#memory = memory;
    this.#overflow = overflow;
  }

  /** Whether the log has dropped its frames and takes no more, so the turn cannot be resumed. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(type: string, frame: string | Buffer): void {
    if (this.#isClosed) return;
    const { maxBytes, maxReplies, replies } = this.#memory;
    const own = typeof frame === 'string' ? frame : ownBytes(frame);
    const bytes = LOGGED_BYTES + this.#bytesOf(own);
    if (this.#bytes + bytes > maxBytes || !replies.take(bytes, SHARE * maxReplies)) {
      this.close();
      this.#overflow();
      return;
    }
    this.#bytes += bytes;
    this.#frames.push({ type, frame: own });
  }

  /** The bytes that a frame keeps in memory. Frames that came together share their buffer. */
  #bytesOf(frame: string | Buffer): number {
    if (typeof frame === 'string') return frame.length;
    const last = this.#frames.at(-1)?.frame;
    return typeof last === 'object' && last.buffer === frame.buffer ? 0 : frame.buffer.byteLength;
  }

  /** Releases all frames. */
  close(): void {
    this.#isClosed = true;
    this.#memory.replies.give(this.#bytes);
    this.#bytes = 0;
    this.#frames = [];
  }

  /** Marks all frames so far as sent. */
  markSent(): void {
    this.#sent = this.#frames.length;
  }

  /** The finished items that were written to the client's connection, in order. Parses their frames. */
  sentItems(): readonly JsonObject[] {
    return this.#finished().flatMap(({ item }) => (isObject(item) ? [item] : []));
  }

  /** All frames, without those of the first `items` finished items, which the client has already. */
  framesAfter(items: number): readonly (string | Buffer)[] {
    const known = new Set(
      this.#finished()
        .slice(0, items)
        .map(({ output_index: index }) => index),
    );
    const frames = this.#frames.map(({ frame }) => frame);
    return items === 0 ? frames : frames.filter((frame) => !known.has(parse(frame).output_index ?? -1));
  }

  #finished(): readonly JsonObject[] {
    return this.#frames
      .slice(0, this.#sent)
      .filter(({ type }) => type === DONE)
      .map(({ frame }) => parse(frame));
  }
}

function parse(frame: string | Buffer): JsonObject {
  try {
    const json: unknown = JSON.parse(frame.toString());
    return isObject(json) ? json : {};
  } catch {
    return {};
  }
}
