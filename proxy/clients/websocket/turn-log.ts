// The frames of a turn from its beginning, for a client that comes back for it (Q29).
import type { JsonObject } from '../../turn/json.ts';
import { isObject } from '../../turn/json.ts';

interface Logged {
  readonly type: string;
  readonly frame: string | Buffer;
}

const DONE = 'response.output_item.done';

export class TurnLog {
  readonly #maxBytes: number;
  readonly #overflow: () => void;
  #frames: Logged[] = [];
  #bytes = 0;
  /** The frames that were written to a client's connection. */
  #sent = 0;

  /** @param overflow called once, when the limit is passed */
  constructor(maxBytes: number, overflow: () => void) {
    this.#maxBytes = maxBytes;
    this.#overflow = overflow;
  }

  /** Past its limit it keeps nothing, and the turn cannot be resumed. */
  get isFull(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(type: string, frame: string | Buffer): void {
    if (this.isFull) return;
    this.#bytes += frame.length;
    this.#frames.push({ type, frame });
    if (!this.isFull) return;
    this.#frames = [];
    this.#overflow();
  }

  /** All frames so far were sent. */
  markSent(): void {
    this.#sent = this.#frames.length;
  }

  /** The finished items that were written to a client's connection, in order. Parses their frames. */
  sentItems(): readonly JsonObject[] {
    return this.#finished().flatMap(({ item }) => (isObject(item) ? [item] : []));
  }

  /** Every frame, without those of the first `items` finished items: the client has them. */
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
