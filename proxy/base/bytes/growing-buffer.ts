// Gathers texts as UTF-8 in one buffer. The buffer grows if the first size was too small.

/** The size of the buffer beyond the expected bytes. */
const ROOM = 65_536;

export class GrowingBuffer {
  #buffer: Buffer;
  #length = 0;

  /** @param bytes the expected number of bytes */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes + ROOM);
  }

  add(text: string): void {
    // A unit of a text has at most three bytes.
    if (this.#length + text.length * 3 > this.#buffer.length) this.#reserve(this.#length + Buffer.byteLength(text));
    this.#length += this.#buffer.write(text, this.#length);
  }

  /** Returns all bytes so far, without copying them. */
  take(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(bytes + ROOM, Math.ceil(this.#buffer.length * 1.5)));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
