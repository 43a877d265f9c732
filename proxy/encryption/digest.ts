// Keyed digests (HMAC-SHA-256): stored in place of values that must not be stored and cannot be guessed from the digest.
import { createHmac, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto';

/** Longer values are hashed before: a client decides how long its headers are. Stored digests depend on this bound. */
const LONGEST_BYTES = 4_096;

export class KeyedDigest {
  /** A key object is prepared once; from a buffer each digest costs ten times as much. */
  readonly #key: KeyObject;

  constructor(key: Buffer) {
    this.#key = createSecretKey(key);
  }

  /** Base64url of the value's HMAC-SHA-256. */
  of(value: string): string {
    const text = value.length * 3 > LONGEST_BYTES ? hash('sha256', value, 'base64url') : value;
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

/** Digests that only this process compares, and never stores or shows: a hash with a secret prefix, at a fraction of an HMAC's cost. */
export class ProcessDigest {
  readonly #secret = randomBytes(32).toString('base64');

  of(value: string): string {
    return hash('sha256', this.#secret + value, 'base64');
  }
}
