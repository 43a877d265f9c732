// Seals the capsules in clients' items with AES-256-GCM. They are not stored, and every node with the same store key can open them (AA22).
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { CAPSULE_PREFIX, type CapsuleItem, type Capsules } from '../turn/provider/capsule.ts';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** What was done with capsules. The metric has no other labels (AA83). */
export type CapsuleResult = 'sealed' | 'opened' | 'refused';

export class SealedCapsules implements Capsules {
  readonly results: Record<CapsuleResult, number> = { sealed: 0, opened: 0, refused: 0 };
  readonly #key: Buffer;

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** Capsules with the same key and a separate count, for explanations, which are not turns. */
  apart(): SealedCapsules {
    return new SealedCapsules(this.#key);
  }

  seal(text: string, pool: string, item: CapsuleItem): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv, { authTagLength: TAG_BYTES }).setAAD(placeOf(pool, item));
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    this.results.sealed += 1;
    return CAPSULE_PREFIX + sealed.toString('base64url');
  }

  open(sealed: string, pool: string, item: CapsuleItem): string | undefined {
    const text = this.#opened(Buffer.from(sealed.slice(CAPSULE_PREFIX.length), 'base64url'), placeOf(pool, item));
    this.results[text === undefined ? 'refused' : 'opened'] += 1;
    return text;
  }

  #opened(bytes: Buffer, place: Buffer): string | undefined {
    const end = bytes.length - TAG_BYTES;
    if (end < IV_BYTES) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(place).setAuthTag(bytes.subarray(end));
      return decipher.update(bytes.subarray(IV_BYTES, end), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      return undefined;
    }
  }
}

/** The authenticated place. Item types have no line break, so all places are different. */
const placeOf = (pool: string, item: CapsuleItem): Buffer => Buffer.from(`${item}\n${pool}`);
