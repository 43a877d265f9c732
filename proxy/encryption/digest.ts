// Keyed digests (HMAC-SHA-256). They are stored instead of values that must not be stored, and values cannot be guessed from them.
import { createHmac, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';

/**
 * The longest value that is digested directly. A longer one is hashed first, because clients decide the length of their headers. Stored
 * digests depend on this bound.
 */
const LONGEST_BYTES = 4_096;

export class KeyedDigest {
  /** The key as an object, which is prepared once. With a buffer each digest would cost ten times as much. */
  readonly #key: KeyObject;

  constructor(key: Buffer) {
    this.#key = createSecretKey(key);
  }

  /** The value's HMAC-SHA-256 in base64url. */
  of(value: string): string {
    const text = value.length * 3 > LONGEST_BYTES ? hash('sha256', value, 'base64url') : value;
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

/**
 * Digests that only this process compares, and that are never stored or shown. They are hashes with a secret prefix, which cost a fraction
 * of an HMAC.
 */
export class ProcessDigest {
  readonly #secret = randomBytes(32).toString('base64');

  of(value: string): string {
    return hash('sha256', this.#secret + value, 'base64');
  }
}
