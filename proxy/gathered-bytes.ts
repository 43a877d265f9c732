// Gathers chunks into one buffer. Small chunks are joined on arrival, so that a peer that sends single bytes uses little more memory than
// its bytes.

/** A chunk below this is small: the object around it, of some 200 bytes, counts. */
const SMALL_BYTES = 1_024;
/** The number of small chunks in a row that are joined. */
const JOINED = 256;

const NOTHING = Buffer.alloc(0);

export class GatheredBytes {
  /** The length of all chunks together. */
  length = 0;
  #chunks: Buffer[] = [];
  /** Small chunks at the end that have not been joined. */
  #small = 0;

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.length += chunk.length;
    if (chunk.length >= SMALL_BYTES) this.#small = 0;
    else if (++this.#small === JOINED) this.#join();
  }

  /** All bytes so far; holds none afterwards. One chunk is given back as it came. */
  take(): Buffer {
    const [first = NOTHING] = this.#chunks;
    const all = this.#chunks.length <= 1 ? first : Buffer.concat(this.#chunks, this.length);
    this.#chunks = [];
    this.length = 0;
    this.#small = 0;
    return all;
  }

  /** Joined ones are not joined again: each byte is copied once. */
  #join(): void {
    this.#chunks.push(Buffer.concat(this.#chunks.splice(-JOINED)));
    this.#small = 0;
  }
}
