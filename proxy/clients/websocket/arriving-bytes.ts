// Counts the bytes of a client's incomplete frame against the memory limit.
import type { HeldBody } from '../../base/bytes/body-memory.ts';
import type { JsonMemory } from '../http/bodies/json-body.ts';

/** The head of a client's ping or pong: two bytes, and four bytes of the mask. */
const CONTROL_HEAD_BYTES = 6;

export class ArrivingBytes {
  readonly #memory: JsonMemory;
  readonly #held: HeldBody;

  /** @param displaced drops the frame to make room for a body of another key */
  constructor(memory: JsonMemory, displaced: () => void) {
    this.#memory = memory;
    this.#held = memory.share.body(displaced);
  }

  /** Whether a message has begun and not ended. */
  get isIncomplete(): boolean {
    return this.#held.bytes > 0;
  }

  /** @returns whether there is room for the bytes */
  add(bytes: number): boolean {
    const { counters, limits } = this.#memory;
    if (this.#held.take(bytes, limits.bodies_in_memory_bytes)) return true;
    counters.add('bodies_guard_refused');
    return false;
  }

  /** Releases a control frame, which is not part of a body. Endless pings would otherwise use up the limit of all clients. */
  releaseControl(payloadBytes: number): void {
    this.#held.give(CONTROL_HEAD_BYTES + payloadBytes);
  }

  /** Releases all bytes, because the frame is complete. */
  release(): void {
    this.#held.give();
  }
}
