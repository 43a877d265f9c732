// Frames that wait during a running turn. They are kept as bytes, which the memory limit counts, because a parsed frame needs many times as
// much (Q28).
import type { HeldBody } from '../../base/bytes/body-memory.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { JsonMemory } from '../http/bodies/json-body.ts';

const MOST = 8;

interface Waiting {
  readonly data: Buffer;
  readonly held: HeldBody;
}

export class WaitingFrames {
  readonly #memory: JsonMemory;
  readonly #displaced: (refusal: Refusal) => void;
  readonly #frames: Waiting[] = [];
  #bytes = 0;

  /** @param displaced called with the refusal of a frame that is dropped to make room for a body of another key */
  constructor(memory: JsonMemory, displaced: (refusal: Refusal) => void) {
    this.#memory = memory;
    this.#displaced = displaced;
  }

  /** @returns the refusal if there is no room for the frame */
  add(data: Buffer): Refusal | undefined {
    const { counters, limits, share } = this.#memory;
    if (this.#frames.length >= MOST || this.#bytes + data.length > limits.request_body_bytes) {
      counters.add('websocket_frames_refused');
      return new Refusal('rate_limit_exceeded', { message: `At most ${MOST} frames can wait for the running turn to end.` });
    }
    const held = share.body(() => this.#displace(held));
    if (!held.take(data.length, limits.bodies_in_memory_bytes)) {
      counters.add('bodies_guard_refused');
      return new Refusal('server_is_overloaded');
    }
    // Copied, because a frame may be a small part of a chunk, and a view would keep the whole chunk in memory.
    this.#frames.push({ data: Buffer.from(data), held });
    this.#bytes += data.length;
    return undefined;
  }

  /** Removes and returns the first frame. */
  shift(): Buffer | undefined {
    const first = this.#frames.shift();
    if (!first) return undefined;
    this.#bytes -= first.data.length;
    first.held.give();
    return first.data;
  }

  clear(): void {
    for (const { held } of this.#frames.splice(0)) held.give();
    this.#bytes = 0;
  }

  #displace(held: HeldBody): void {
    const at = this.#frames.findIndex((frame) => frame.held === held);
    const [frame] = at === -1 ? [] : this.#frames.splice(at, 1);
    if (!frame) return;
    this.#bytes -= frame.data.length;
    this.#memory.counters.add('bodies_displaced');
    this.#displaced(new Refusal('server_is_overloaded'));
  }
}
