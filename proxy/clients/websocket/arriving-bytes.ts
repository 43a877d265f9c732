// Counts the bytes of a client's incomplete frame against the memory limit.
import type { HeldBody } from '../../base/bytes/body-memory.ts';
import type { JsonMemory } from '../http/bodies/json-body.ts';

/** The head of a client's ping or pong: two bytes, and four of the mask. */
const CONTROL_HEAD_BYTES = 6;

export class ArrivingBytes {
  readonly #memory: JsonMemory;
  readonly #held: HeldBody;

  /** @param displaced drops the frame for a body of another key */
  constructor(memory: JsonMemory, displaced: () => void) {
    this.#memory = memory;
    this.#held = memory.share.body(displaced);
  }

  /** Whether a message has begun and not ended. */
  get isIncomplete(): boolean {
    return this.#held.bytes > 0;
  }

  /** @returns whether there is room for them */
  add(bytes: number): boolean {
    const { counters, limits } = this.#memory;
    if (this.#held.take(bytes, limits.bodies_in_memory_bytes)) return true;
    counters.add('bodies_guard_refused');
    return false;
  }

  /** A control frame is not part of a body. If they were counted, endless pings would use up the limit of all clients. */
  releaseControl(payloadBytes: number): void {
    this.#held.give(CONTROL_HEAD_BYTES + payloadBytes);
  }

  /** The frame has arrived. */
  release(): void {
    this.#held.give();
  }
}
