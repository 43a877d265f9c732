// Blocks of memory for the bytes of large bodies. A few are kept for the next bodies. The others return to the system at once, without a
// garbage collection (Q38).

/**
 * The size of a slab. The C library takes so large a block from the system and gives it back when it is freed, while it keeps the memory
 * of smaller ones (scripts/node-flags.mjs).
 */
export const SLAB_BYTES = 262_144;
/** The most slabs that are kept: 8 MiB. */
const KEPT = 32;

export class Slabs {
  readonly #free: Buffer<ArrayBuffer>[] = [];

  /** The number of slabs that are kept. */
  get kept(): number {
    return this.#free.length;
  }

  take(): Buffer<ArrayBuffer> {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES);
  }

  /** Its caller must not use the slab afterwards. */
  give(slab: Buffer<ArrayBuffer>): void {
    if (this.#free.length < KEPT) this.#free.push(slab);
    // Frees the memory.
    else slab.buffer.transfer(0);
  }
}

export const slabs = new Slabs();
