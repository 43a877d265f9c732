// Keyed digests (HMAC-SHA-256): what stands in the store for values that must not, and cannot be guessed back from it.
import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Longer values are digested first, as HMAC itself does with long keys: nobody's header is a megabyte, but it might be. */
const LONGEST_BYTES = 4_096;

export class KeyedDigest {
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  /** @param key at most 64 bytes */
  constructor(key: Buffer) {
    this.#inner = Buffer.alloc(BLOCK_BYTES + LONGEST_BYTES);
    this.#outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
    for (let i = 0; i < BLOCK_BYTES; i++) {
      const byte = key[i] ?? 0;
      this.#inner[i] = byte ^ 0x36;
      this.#outer[i] = byte ^ 0x5c;
    }
  }

  /**
   * Base64url of HMAC-SHA-256. Written out over one-shot hashes, which take half the time of a createHmac: every turn leaves
   * something to be digested.
   */
  of(value: string): string {
    const text = value.length * 3 > LONGEST_BYTES ? hash('sha256', value, 'base64url') : value;
    const length = this.#inner.write(text, BLOCK_BYTES, 'utf8');
    hash('sha256', this.#inner.subarray(0, BLOCK_BYTES + length), 'buffer').copy(this.#outer, BLOCK_BYTES);
    return hash('sha256', this.#outer, 'base64url');
  }
}
