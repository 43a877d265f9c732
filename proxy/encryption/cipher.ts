// Encrypts stored credentials with AES-256-GCM. Each text has its own initialisation vector.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

export class Cipher {
  readonly #key: Buffer;

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** @param place authenticated with the text, so that a text sealed for one account cannot be opened for another */
  seal(text: string, place: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return [VERSION, iv.toString('base64url'), sealed.toString('base64url')].join('.');
  }

  /** Undefined if the text was not sealed with this key for this place. */
  open(sealed: string, place: string): string | undefined {
    const [version, iv, rest] = sealed.split('.');
    if (version !== VERSION || iv === undefined || rest === undefined) return undefined;
    const bytes = Buffer.from(rest, 'base64url');
    const end = bytes.length - TAG_BYTES;
    if (end < 0) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(end));
      return decipher.update(bytes.subarray(0, end), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      return undefined;
    }
  }
}
