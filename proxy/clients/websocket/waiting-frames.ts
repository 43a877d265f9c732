// Frames that wait during a running turn: kept as bytes, which the memory limit counts, because a parsed frame needs many times as much
// (Q28).
import type { MemoryGuard } from '../../base/bytes/memory-guard.ts';
import type { Counters } from '../../base/process/metrics.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { Limits } from '../../turn/settings.ts';

const MOST = 8;

/** Counts the bytes of all clients. */
export interface FrameMemory {
  readonly guard: MemoryGuard;
  readonly limits: Limits;
  readonly counters: Counters;
}

export class WaitingFrames {
  readonly #memory: FrameMemory;
  readonly #frames: Buffer[] = [];
  #bytes = 0;

  constructor(memory: FrameMemory) {
    this.#memory = memory;
  }

  /** @returns the refusal where there is no room for the frame */
  add(data: Buffer): Refusal | undefined {
    const { counters, guard, limits } = this.#memory;
    if (this.#frames.length >= MOST || this.#bytes + data.length > limits.request_body_bytes) {
      counters.add('websocket_frames_refused');
      return new Refusal('rate_limit_exceeded', { message: `At most ${MOST} frames can wait for the running turn to end.` });
    }
    if (!guard.take(data.length, limits.bodies_in_memory_bytes)) {
      counters.add('bodies_guard_refused');
      return new Refusal('server_is_overloaded');
    }
    // A copy: a frame may be a small part of a chunk, and a view would keep the whole chunk in memory.
    this.#frames.push(Buffer.from(data));
    this.#bytes += data.length;
    return undefined;
  }

  /** Removes the first one. */
  shift(): Buffer | undefined {
    const first = this.#frames.shift();
    if (!first) return undefined;
    this.#bytes -= first.length;
    this.#memory.guard.give(first.length);
    return first;
  }

  clear(): void {
    this.#memory.guard.give(this.#bytes);
    this.#bytes = 0;
    this.#frames.length = 0;
  }
}
