// Gathers the reads of a body of stated length. When enough of it has come, all of it gets one buffer, into which later reads are copied, so
// that only the first of them are copied again (Q38).
import { freeRead, GatheredBytes, type Gathering } from './gathered-bytes.ts';

/**
 * The part of the body that must have come. The length is only a statement: the system gives a page of the buffer to the process when it is
 * written, but its addresses and V8's count of it are taken at once.
 */
const ENOUGH = 1 / 4;

export class StatedBytes implements Gathering {
  readonly #stated: number;
  /** The bytes before those in `#whole`. */
  readonly #first = new GatheredBytes();
  #whole: Buffer<ArrayBuffer> | undefined;
  length = 0;

  /** @param stated the length that the reads together do not exceed */
  constructor(stated: number) {
    this.#stated = stated;
  }

  get uncopied(): number {
    return this.#first.length;
  }

  addRead(chunk: Buffer<ArrayBuffer>): number {
    const { length } = chunk;
    const at = this.length;
    this.length += length;
    if (!this.#whole && at < ENOUGH * this.#stated) return this.#first.addRead(chunk);
    this.#whole ??= Buffer.allocUnsafeSlow(this.#stated);
    chunk.copy(this.#whole, at);
    freeRead(chunk);
    return length;
  }

  take(): Buffer {
    return this.takeInParts(Number.POSITIVE_INFINITY).next().value ?? NOTHING;
  }

  *takeInParts(bytes: number): Generator<undefined, Buffer> {
    const whole = this.#whole;
    if (!whole) return yield* this.#first.takeInParts(bytes);
    yield* this.#first.moveInParts(whole, bytes);
    const all = whole.subarray(0, this.length);
    this.#whole = undefined;
    this.clear();
    return all;
  }

  clear(): void {
    this.#first.clear();
    this.#whole?.buffer.transfer(0);
    this.#whole = undefined;
    this.length = 0;
  }
}

const NOTHING = Buffer.alloc(0);
