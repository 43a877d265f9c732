// Makes secrets of 256 random bits. A secret is shown once, and kept only as a hash.
import { hash, randomBytes } from 'node:crypto';

export interface NewSecret {
  readonly secret: string;
  /** The secret's SHA-256 in lower-case hex, which the file contains. */
  readonly sha256: string;
}

/** @param prefix the prefix by which people and scanners of leaked secrets recognise it */
export function makeSecret(prefix: 'pg-' | 'pg-mcp-'): NewSecret {
  const secret = prefix + randomBytes(32).toString('base64url');
  return { secret, sha256: hash('sha256', secret, 'hex') };
}

/** The name of a secret in lists and commands: the first digits of its hash, which reveal nothing about it. */
export const secretName = (sha256: string): string => sha256.slice(0, 8);
