// Makes secrets: 256 random bits, shown once, kept as a hash.
import { hash, randomBytes } from 'node:crypto';

export interface MadeSecret {
  readonly secret: string;
  /** Lower-case hex SHA-256 of it: what the file holds. */
  readonly sha256: string;
}

/** @param prefix Tells people, and scanners of leaked secrets, what they have found. */
export function makeSecret(prefix: 'pg-' | 'pg-mcp-'): MadeSecret {
  const secret = prefix + randomBytes(32).toString('base64url');
  return { secret, sha256: hash('sha256', secret, 'hex') };
}
