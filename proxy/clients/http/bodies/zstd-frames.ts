// A zstd decoder for bodies of several frames (RFC 8878, 3), because Node's own stops after the first frame of a chunk.
import type { TransformCallback } from 'node:stream';
import { ZstdDecompress } from 'node:zlib';

/**
 * The most frames. Decoding each frame occupies a thread, even if the frame is small. Streaming encoders write one frame for many
 * kilobytes.
 */
const MAX_FRAMES = 4_096;

const MAGIC = 0xfd2f_b528;
const SKIPPABLE_MAGIC = 0x184d_2a50;

/** Sizes of the fields after a frame's descriptor, by the flags in the descriptor. */
const DICTIONARY_ID_BYTES = [0, 1, 2, 4] as const;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;

const CHECKSUM_BYTES = 4;
const RLE_BLOCK = 1;

/** The fields that are read, with their sizes in bytes. Each determines the length of the next part of the frame. */
const FIELD_BYTES = { magic: 4, 'skippable size': 4, descriptor: 1, 'block header': 3 } as const;

type Field = keyof typeof FIELD_BYTES;

/** Decodes frame by frame. A chunk is passed on in pieces that end where a frame ends. */
export class ZstdFramesDecoder extends ZstdDecompress {
  readonly #boundaries = new FrameBoundaries();

  override _transform(chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    const end = this.#boundaries.next(chunk);
    if (this.#boundaries.frames > MAX_FRAMES) {
      done(new Error('too many frames'));
      return;
    }
    super._transform(chunk.subarray(0, end), encoding, (error) => {
      if (error || end === chunk.length) done(error);
      else this._transform(chunk.subarray(end), encoding, done);
    });
  }
}

/** Finds the ends of frames from the sizes of their parts. */
class FrameBoundaries {
  /** The number of complete frames so far. */
  frames = 0;
  #field: Field = 'magic';
  /** The value of the current field, whose bytes arrive in little-endian order. */
  #value = 0;
  #arrived = 0;
  /** The number of bytes before the next field. */
  #skip = 0;
  #hasChecksum = false;
  /** Whether the frame ends after the skipped bytes. */
  #isLast = false;

  /** The end of the current frame in the chunk: after its last byte, or at the end of the chunk. */
  next(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, chunk.length - at);
        this.#skip -= skipped;
        at += skipped;
      } else {
        this.#value += (chunk[at] as number) * 256 ** this.#arrived;
        this.#arrived += 1;
        at += 1;
        if (this.#arrived < FIELD_BYTES[this.#field]) continue;
        this.#read(this.#field, this.#value);
        this.#value = 0;
        this.#arrived = 0;
      }
      if (this.#isLast && this.#skip === 0) {
        this.#isLast = false;
        this.#field = 'magic';
        this.frames += 1;
        return at;
      }
    }
    return at;
  }

  #read(field: Field, value: number): void {
    switch (field) {
      case 'magic':
        if (value === MAGIC) this.#field = 'descriptor';
        else if (value - (value % 16) === SKIPPABLE_MAGIC) this.#field = 'skippable size';
        // This is not a frame. The decoder gets the rest and refuses it.
        else this.#skip = Number.POSITIVE_INFINITY;
        break;
      case 'skippable size':
        this.#skip = value;
        this.#isLast = true;
        break;
      case 'descriptor': {
        const isSingleSegment = (value & 0x20) !== 0;
        const contentSize = CONTENT_SIZE_BYTES[(value >> 6) as 0 | 1 | 2 | 3];
        // A single-segment frame always has a content size, and has no window descriptor.
        this.#skip = (isSingleSegment ? Math.max(contentSize, 1) : 1 + contentSize) + DICTIONARY_ID_BYTES[(value & 3) as 0 | 1 | 2 | 3];
        this.#hasChecksum = (value & 4) !== 0;
        this.#field = 'block header';
        break;
      }
      case 'block header': {
        const size = value >> 3;
        this.#isLast = (value & 1) !== 0;
        this.#skip = ((value >> 1) & 3) === RLE_BLOCK ? 1 : size;
        if (this.#isLast && this.#hasChecksum) this.#skip += CHECKSUM_BYTES;
      }
    }
  }
}
