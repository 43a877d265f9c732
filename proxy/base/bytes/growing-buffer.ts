// Gathers texts as UTF-8 in one buffer, which grows where its first size was a wrong guess.

/** The first size has this much room beside the guess. */
const ROOM = 65_536;

export class GrowingBuffer {
  #buffer: Buffer;
  #length = 0;

  /** @param bytes about how many there will be */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes + ROOM);
  }

  add(text: string): void {
    // No character of a text has more than three bytes for each of its units.
    if (this.#length + text.length * 3 > this.#buffer.length) this.#reserve(this.#length + Buffer.byteLength(text));
    this.#length += this.#buffer.write(text, this.#length);
  }

  /** All bytes so far, in the buffer itself. */
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
