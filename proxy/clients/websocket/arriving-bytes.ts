// Counts the bytes of a client's incomplete frame against the memory limit.
import type { FrameMemory } from './waiting-frames.ts';

/** The head of a client's ping or pong: two bytes, and four of the mask. */
const CONTROL_HEAD_BYTES = 6;

export class ArrivingBytes {
  readonly #memory: FrameMemory;
  #bytes = 0;

  constructor(memory: FrameMemory) {
    this.#memory = memory;
  }

  /** Whether a message has begun and not ended. */
  get isIncomplete(): boolean {
    return this.#bytes > 0;
  }

  /** @returns whether there is room for them */
  add(bytes: number): boolean {
    const { counters, guard, limits } = this.#memory;
    if (!guard.take(bytes, limits.bodies_in_memory_bytes)) {
      counters.add('bodies_guard_refused');
      return false;
    }
    this.#bytes += bytes;
    return true;
  }

  /** A control frame is not part of a body. If they were counted, endless pings would use up the limit of all clients. */
  releaseControl(payloadBytes: number): void {
    this.#release(Math.min(this.#bytes, CONTROL_HEAD_BYTES + payloadBytes));
  }

  /** The frame has arrived. */
  release(): void {
    this.#release(this.#bytes);
  }

  #release(bytes: number): void {
    this.#memory.guard.give(bytes);
    this.#bytes -= bytes;
  }
}
