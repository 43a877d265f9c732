// The signature of a thinking block: the account's reasoning ciphertext with a digest, by which foreign and changed signatures are
// recognised (AM37, AM38).
import { createHash } from 'node:crypto';

const MARKER = 'pgs1.';
const DIGITS = 16;
const CIPHERTEXT_AT = MARKER.length + DIGITS + 1;

const digestOf = (ciphertext: string): string => createHash('sha256').update(ciphertext).digest('hex').slice(0, DIGITS);

export const signatureOf = (ciphertext: string): string => `${MARKER}${digestOf(ciphertext)}.${ciphertext}`;

/** The ciphertext in a signature of this gateway; undefined if the signature is another vendor's, or was cut or changed. */
export function ciphertextIn(signature: string): string | undefined {
  if (!signature.startsWith(MARKER) || signature[CIPHERTEXT_AT - 1] !== '.') return undefined;
  const ciphertext = signature.slice(CIPHERTEXT_AT);
  return ciphertext !== '' && signature.slice(MARKER.length, CIPHERTEXT_AT - 1) === digestOf(ciphertext) ? ciphertext : undefined;
}
