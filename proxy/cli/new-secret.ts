// New secrets: 256 random bits, shown once, kept as a hash.
import { hash, randomBytes } from 'node:crypto';
import { type CommonOptions, type Io, json } from './command.ts';

export interface NewSecret {
  readonly secret: string;
  /** Its SHA-256, lower-case hex, which is stored in the file. */
  readonly sha256: string;
}

/** @param prefix identifies the secret to people and to scanners of leaked secrets */
export function makeSecret(prefix: 'pg-' | 'pg-mcp-'): NewSecret {
  const secret = prefix + randomBytes(32).toString('base64url');
  return { secret, sha256: hash('sha256', secret, 'hex') };
}

/** Prints only the secret on stdout, so that it can be piped, and the note on stderr. */
export function showSecret(
  io: Io,
  { json: asJson }: CommonOptions,
  { id, secret, note }: { readonly id: string; readonly secret: string; readonly note: string },
): void {
  if (asJson) io.out(json({ id, secret }));
  else {
    io.out(`${secret}\n`);
    io.err(`${note}. The secret is shown only once: the file keeps its hash. A running gateway reloads the file by itself.\n`);
  }
}
