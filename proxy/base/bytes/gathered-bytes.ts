// Gathers chunks into one buffer. It holds a small multiple of their bytes, whatever the sizes of the chunks and of the buffers that they
// are parts of.

/** The memory of a chunk besides its bytes (Q38). */
export const OBJECT_BYTES = 64;

/** A smaller chunk is copied when another one follows. */
const KEPT_BYTES = 4_096;
/** The sizes of the blocks that chunks are copied into: each is as large as all bytes before it, within these bounds. */
const MIN_BLOCK_BYTES = 512;
const MAX_BLOCK_BYTES = 65_536;

const NOTHING = Buffer.alloc(0);

export class GatheredBytes {
  /** The length of all chunks together. */
  length = 0;
  /** The memory that is held: the bytes, what else is in their buffers, and the objects around them. */
  held = 0;
  /** The only chunk so far: most bodies and events come in one, which is not copied. */
  #only: Buffer | undefined;
  #chunks: Buffer[] = [];
  /** The block that chunks are copied into. From `#start` to `#end` is the last chunk, unless that is empty. */
  #block = NOTHING;
  #start = 0;
  #end = 0;

  /** @returns by how many bytes `held` grew */
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

  /** All bytes so far; holds none afterwards. One chunk is given back as it came, unless it was a small part of its buffer. */
  take(): Buffer {
    this.#closeCopied();
    const [first = NOTHING] = this.#chunks;
    const all = this.#only ?? (this.#chunks.length <= 1 ? first : Buffer.concat(this.#chunks, this.length));
    this.clear();
    return all;
  }

  /** Like `take`, with a pause after each part of this many bytes. Nothing may be added meanwhile. */
  *takeInParts(bytes: number): Generator<undefined, Buffer> {
    this.#closeCopied();
    const chunks = this.#chunks;
    if (this.#only || chunks.length <= 1) return this.take();
    const all = Buffer.allocUnsafeSlow(this.length);
    let [at, pauseAt] = [0, bytes];
    for (let i = 0; i < chunks.length; i++) {
      at += (chunks[i] as Buffer).copy(all, at);
      // Its memory is free from now on.
      chunks[i] = NOTHING;
      if (at < pauseAt) continue;
      pauseAt += bytes;
      yield;
    }
    this.clear();
    return all;
  }

  /** Drops all bytes. */
  clear(): void {
    this.#only = undefined;
    this.#chunks = [];
    this.#block = NOTHING;
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
    if (chunk.length < KEPT_BYTES || !isMostOfItsBuffer(chunk)) {
      this.#copy(chunk);
      return;
    }
    this.#closeCopied();
    this.#chunks.push(chunk);
    this.held += heldBy(chunk);
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
    const size = Math.min(Math.max(this.length, least, MIN_BLOCK_BYTES), MAX_BLOCK_BYTES);
    // Not from Node's pool: a small part of it keeps all of it alive.
    this.#block = Buffer.allocUnsafeSlow(size);
    this.#start = 0;
    this.#end = 0;
    this.held += OBJECT_BYTES;
  }

  /** What was copied becomes a chunk; the next copies go into the rest of the block. */
  #closeCopied(): void {
    if (this.#start === this.#end) return;
    this.#chunks.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
    this.held += OBJECT_BYTES;
  }
}

/** The bytes themselves, or a copy where they are a small part of the buffer that they would keep alive. */
export function ownBytes(bytes: Buffer): Buffer {
  if (isMostOfItsBuffer(bytes)) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/**
 * Joins the last parts of a list that another part was added to, so that the parts, the objects around them and the buffers that they keep alive
 * stay a small multiple of their bytes.
 */
export function joinLast(parts: Buffer[]): void {
  const last = parts.at(-1);
  if (last && !isMostOfItsBuffer(last)) parts[parts.length - 1] = Buffer.concat([last]);
  for (let at = parts.length - 2; at >= 0; at--) {
    const [former = NOTHING, latter = NOTHING] = [parts[at], parts[at + 1]];
    // Parts of equal size are joined: each byte is copied a few times, however many parts there are.
    if (former.length >= MAX_BLOCK_BYTES || former.length > 2 * latter.length) return;
    parts.splice(at, 2, Buffer.concat([former, latter]));
  }
}

const heldBy = (chunk: Buffer): number => chunk.buffer.byteLength + OBJECT_BYTES;

/** A chunk keeps the whole buffer alive that it is a part of; a buffer that is small does not count. */
const isMostOfItsBuffer = (chunk: Buffer): boolean => chunk.buffer.byteLength <= Math.max(2 * chunk.length, KEPT_BYTES);
