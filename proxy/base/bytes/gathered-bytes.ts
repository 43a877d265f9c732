// Gathers chunks into one buffer. It holds a small multiple of their bytes, whatever the sizes of the chunks and of their buffers.
import { SLAB_BYTES, type Slabs, slabs } from './slabs.ts';

/** The memory of a chunk besides its bytes (Q38). */
export const OBJECT_BYTES = 64;

/** A smaller chunk is copied when the next one arrives. */
const KEPT_BYTES = 4_096;
/**
 * The bounds for the sizes of blocks, into which chunks are copied. Each block is as large as all bytes before it. From the size of a slab
 * on, the blocks are slabs.
 */
const MIN_BLOCK_BYTES = 512;
const MAX_BLOCK_BYTES = 65_536;

const NOTHING = Buffer.alloc(0);

/** Gathers the reads of one body. */
export interface Gathering {
  /** The length of all reads together. */
  readonly length: number;
  /** The number of bytes that `take` copies. */
  readonly uncopied: number;
  /**
   * Adds a read of a connection, which nothing else uses. If it is copied, its memory is free at once, without a garbage collection.
   * @returns the number of bytes by which the memory that is held grew
   */
  addRead(chunk: Buffer<ArrayBuffer>): number;
  /** Returns all bytes and holds none afterwards. */
  take(): Buffer;
  /** Like `take`, with a pause after each part of this many bytes. Nothing may be added during a pause. */
  takeInParts(bytes: number): Generator<undefined, Buffer>;
  /** Drops all bytes. */
  clear(): void;
}

export class GatheredBytes implements Gathering {
  length = 0;
  /** The memory that is held: the bytes, other bytes in the same buffers, and the objects. */
  held = 0;
  /** The only chunk so far. Most bodies and events come in one chunk, which is not copied. */
  #only: Buffer | undefined;
  #chunks: Buffer[] = [];
  /** The block into which chunks are copied. The last chunk is from `#start` to `#end`, unless it is empty. */
  #block: Buffer = NOTHING;
  #start = 0;
  #end = 0;
  /** The slabs among the blocks, by their buffers. */
  readonly #slabs = new Map<ArrayBufferLike, Buffer<ArrayBuffer>>();
  readonly #from: Slabs;

  constructor(from = slabs) {
    this.#from = from;
  }

  get uncopied(): number {
    return this.length;
  }

  /** @returns the number of bytes by which `held` grew */
  add(chunk: Buffer): number {
    const { held } = this;
    if (this.length === 0 && isMostOfItsBuffer(chunk)) {
      this.#only = chunk;
      this.held += heldBy(chunk);
    } else {
      if (this.#only) this.#readd(this.#only);
      this.#append(chunk);
    }
    this.length += chunk.length;
    return this.held - held;
  }

  addRead(chunk: Buffer<ArrayBuffer>): number {
    const isCopied = this.#isRead(chunk);
    const grown = this.add(chunk);
    if (isCopied) freeRead(chunk);
    return grown;
  }

  /** A single chunk is returned without a copy, unless it was a small part of its buffer. */
  take(): Buffer {
    this.#closeCopied();
    const [first = NOTHING] = this.#chunks;
    const all = this.#only ?? (this.#chunks.length <= 1 ? first : Buffer.concat(this.#chunks, this.length));
    this.clear();
    return all;
  }

  *takeInParts(bytes: number): Generator<undefined, Buffer> {
    this.#closeCopied();
    if (this.#only || this.#chunks.length <= 1) return this.take();
    const all = Buffer.allocUnsafeSlow(this.length);
    yield* this.moveInParts(all, bytes);
    return all;
  }

  /** Moves all bytes to the beginning of a buffer, with a pause after each part. Nothing may be added during a pause. */
  *moveInParts(all: Buffer, bytes: number): Generator<undefined, void> {
    this.#closeCopied();
    const chunks = this.#only ? [this.#only] : this.#chunks;
    this.#only = undefined;
    let [at, pauseAt] = [0, bytes];
    for (let i = 0; i < chunks.length; i++) {
      const chunk = chunks[i] as Buffer;
      at += chunk.copy(all, at);
      // Drops the reference, so that the memory of the chunk is free.
      chunks[i] = NOTHING;
      // A slab may have other chunks before its last bytes.
      if (chunk.byteOffset + chunk.length === SLAB_BYTES) this.#giveSlab(chunk.buffer);
      if (at < pauseAt) continue;
      pauseAt += bytes;
      yield;
    }
    this.clear();
  }

  clear(): void {
    this.#only = undefined;
    this.#chunks = [];
    this.#block = NOTHING;
    for (const buffer of this.#slabs.keys()) this.#giveSlab(buffer);
    this.#start = 0;
    this.#end = 0;
    this.length = 0;
    this.held = 0;
  }

  #readd(only: Buffer): void {
    this.#only = undefined;
    this.held -= heldBy(only);
    this.#append(only);
  }

  #append(chunk: Buffer): void {
    if (chunk.length < KEPT_BYTES || this.#isRead(chunk) || !isMostOfItsBuffer(chunk)) {
      this.#copy(chunk);
      return;
    }
    this.#closeCopied();
    this.#chunks.push(chunk);
    this.held += heldBy(chunk);
  }

  /**
   * Whether a chunk is one of the many of a large body. They are copied into slabs, because the C library keeps the memory of many small
   * buffers when they are freed.
   */
  #isRead({ length }: Buffer): boolean {
    return this.length >= SLAB_BYTES && length >= KEPT_BYTES && length < SLAB_BYTES;
  }

  #copy(chunk: Buffer): void {
    for (let from = 0; from < chunk.length; ) {
      if (this.#end === this.#block.length) this.#open(chunk.length - from);
      const copied = chunk.copy(this.#block, this.#end, from);
      from += copied;
      this.#end += copied;
      this.held += copied;
    }
  }

  #open(least: number): void {
    this.#closeCopied();
    this.#block = this.length >= SLAB_BYTES ? this.#takeSlab() : blockOf(Math.max(this.length, least));
    this.#start = 0;
    this.#end = 0;
    this.held += OBJECT_BYTES;
  }

  #takeSlab(): Buffer {
    const slab = this.#from.take();
    this.#slabs.set(slab.buffer, slab);
    return slab;
  }

  #giveSlab(buffer: ArrayBufferLike): void {
    const slab = this.#slabs.get(buffer);
    if (!slab) return;
    this.#slabs.delete(buffer);
    this.#from.give(slab);
  }

  /** Makes a chunk of what was copied. Later copies use the rest of the block. */
  #closeCopied(): void {
    if (this.#start === this.#end) return;
    this.#chunks.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
    this.held += OBJECT_BYTES;
  }
}

/** Frees the memory of a read of a connection that was copied, and that nothing else uses. A garbage collection would free it later. */
export function freeRead(chunk: Buffer<ArrayBuffer>): void {
  if (chunk.length >= KEPT_BYTES && chunk.length === chunk.buffer.byteLength) chunk.buffer.transfer(0);
}

/** Not from Node's pool, because a small part of the pool keeps all of it in memory. */
const blockOf = (bytes: number): Buffer => Buffer.allocUnsafeSlow(Math.min(Math.max(bytes, MIN_BLOCK_BYTES), MAX_BLOCK_BYTES));

/** The bytes themselves, or a copy if they are a small part of their buffer, which they would keep in memory. */
export function ownBytes(bytes: Buffer): Buffer {
  if (isMostOfItsBuffer(bytes)) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/**
 * Joins the last parts of a list after a part was added, so that the parts, their objects and their buffers need only a small multiple of
 * their bytes.
 */
export function joinLast(parts: Buffer[]): void {
  const last = parts.at(-1);
  if (last && !isMostOfItsBuffer(last)) parts[parts.length - 1] = Buffer.concat([last]);
  for (let at = parts.length - 2; at >= 0; at--) {
    const [former = NOTHING, latter = NOTHING] = [parts[at], parts[at + 1]];
    // Parts of similar size are joined, so that each byte is copied only a few times, whatever the number of parts.
    if (former.length >= MAX_BLOCK_BYTES || former.length > 2 * latter.length) return;
    parts.splice(at, 2, Buffer.concat([former, latter]));
  }
}

const heldBy = (chunk: Buffer): number => chunk.buffer.byteLength + OBJECT_BYTES;

/** Whether a chunk is most of its buffer, which it keeps in memory. A small buffer does not matter. */
const isMostOfItsBuffer = (chunk: Buffer): boolean => chunk.buffer.byteLength <= Math.max(2 * chunk.length, KEPT_BYTES);
