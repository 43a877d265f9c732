// Limits the memory of JSON that needs far more memory parsed than as bytes. It is held while its turn runs, and no other body's memory is
// used up by it (Q38).

/** Parsed JSON of this many times its bytes is not dense. That of real conversations is smaller. */
const PLAIN_TIMES = 8;

export class DenseMemory {
  held = 0;
  readonly #keys = new Map<string, number>();

  /** @param limit over all keys; one of them may have half of it. @returns whether there is room for `bytes` more */
  take(key: string, bytes: number, limit: number): boolean {
    const own = (this.#keys.get(key) ?? 0) + bytes;
    if (own > limit / 2 || this.held + bytes > limit) return false;
    this.#keys.set(key, own);
    this.held += bytes;
    return true;
  }

  give(key: string, bytes: number): void {
    this.held -= bytes;
    const left = (this.#keys.get(key) ?? 0) - bytes;
    if (left > 0) this.#keys.set(key, left);
    else this.#keys.delete(key);
  }
}

/** The memory of one body's JSON beyond what its bytes account for. */
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

  /** Counts the memory that JSON of `length` bytes needs as far as it was read. @returns whether there is room for it */
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
