// New secrets: 256 random bits, shown once, kept as a hash.
import { hash, randomBytes } from 'node:crypto';

export interface NewSecret {
  readonly secret: string;
  /** The secret's SHA-256 in lower-case hex, which is stored in the file. */
  readonly sha256: string;
}

/** @param prefix identifies the secret to people and to scanners of leaked secrets */
export function makeSecret(prefix: 'pg-' | 'pg-mcp-'): NewSecret {
  const secret = prefix + randomBytes(32).toString('base64url');
  return { secret, sha256: hash('sha256', secret, 'hex') };
}

/** What names a secret in lists and commands: the first digits of its hash, which tell nothing of it. */
export const secretName = (sha256: string): string => sha256.slice(0, 8);
