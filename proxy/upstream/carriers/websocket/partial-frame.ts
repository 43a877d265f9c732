// The bytes of a frame that has not arrived completely. They count as memory of the turn that reads the frame.
import type { HeldBytes } from '../../../turn/reply/held-bytes.ts';

type Memory = Pick<HeldBytes, 'hold' | 'release'>;

export class PartialFrame {
  /** Bytes that arrived after the last complete frame. */
  #arrived = 0;
  /** The bytes that count in the memory of the turn. */
  #held = 0;

  /**
   * Adds the bytes of one read. The bytes of the first read do not count yet, because most frames arrive in a single read and are passed on
   * at once.
   * @param memory the memory of the turn
   * @throws TooMuchHeld
   */
  add(bytes: number, memory: Memory): void {
    const isFirst = this.#arrived === 0;
    this.#arrived += bytes;
    if (isFirst) return;
    memory.hold(this.#arrived - this.#held);
    this.#held = this.#arrived;
  }

  /** Releases the bytes, because the frame is complete or the turn leaves the socket. */
  release(memory: Memory | undefined): void {
    this.#arrived = 0;
    if (this.#held === 0) return;
    memory?.release(this.#held);
    this.#held = 0;
  }
}
