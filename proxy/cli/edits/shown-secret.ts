// Prints a new secret, which cannot be shown again.
import { type CommonOptions, type Io, json } from '../command.ts';

/** Prints the secret on stdout, so that it can be piped, and the note on stderr. */
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
