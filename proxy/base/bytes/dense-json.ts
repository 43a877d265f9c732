// Limits the memory of JSON that needs much more memory parsed than as bytes. The memory is held while the turn runs, and does not count as
// memory of bodies (Q38).

/** JSON that needs at most this many times its bytes is not dense. Real conversations need less. */
const PLAIN_TIMES = 8;

/** The memory from which on the process should return memory when it rests. */
export const MUCH_BYTES = 16_777_216;

export class DenseMemory {
  held = 0;
  readonly #keys = new Map<string, number>();
  readonly #isLarge: () => void;

  constructor(isLarge: () => void) {
    this.#isLarge = isLarge;
  }

  /** @param limit the limit over all keys; one key may have half of it @returns whether there is room for `bytes` more bytes */
  take(key: string, bytes: number, limit: number): boolean {
    const own = (this.#keys.get(key) ?? 0) + bytes;
    if (own > limit / 2 || this.held + bytes > limit) return false;
    this.#keys.set(key, own);
    this.held += bytes;
    if (this.held >= MUCH_BYTES) this.#isLarge();
    return true;
  }

  give(key: string, bytes: number): void {
    this.held -= bytes;
    const left = (this.#keys.get(key) ?? 0) - bytes;
    if (left > 0) this.#keys.set(key, left);
    else this.#keys.delete(key);
  }
}

/** The memory of one body's JSON that exceeds the multiple of its bytes. */
export class DenseJson {
  readonly #memory: DenseMemory;
  readonly #key: string;
  #bytes = 0;

  constructor(memory: DenseMemory, key: string) {
    this.#memory = memory;
    this.#key = key;
  }

  get isCounted(): boolean {
    return this.#bytes > 0;
  }

  /** Counts the memory that the first `length` bytes of the JSON need. @returns whether there is room for it */
  count(needed: number, length: number, limit: number): boolean {
    const more = needed - PLAIN_TIMES * length - this.#bytes;
    if (more <= 0) return true;
    if (!this.#memory.take(this.#key, more, limit)) return false;
    this.#bytes += more;
    return true;
  }

  give(): void {
    if (this.#bytes === 0) return;
    this.#memory.give(this.#key, this.#bytes);
    this.#bytes = 0;
  }
}
