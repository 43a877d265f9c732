// Decides when a command works with the file alone, and why.
import { CommandFailure, type Io } from '../command.ts';
import { GatewayRefused, Unreachable } from './ask.ts';

/**
 * The reason why a command edits the file itself: no gateway runs on the file, or the running one cannot write it. A person who can write
 * the file needs no token, because the missing token may be the one to be replaced. Undefined if the gateway refuses the edit, or may have
 * made it.
 */
export function reasonAlone(thrown: unknown, { env }: Pick<Io, 'env'>): string | undefined {
  if (thrown instanceof Unreachable) return thrown.isLate ? undefined : thrown.message;
  if (!(thrown instanceof CommandFailure)) return undefined;
  // The answer came from another program or version, which does not know the request.
  if (!(thrown instanceof GatewayRefused)) return thrown.message;
  if (thrown.code === 'other_file' || thrown.code === 'edits_off') return thrown.message;
  return thrown.status === 401 && env.POOLGATE_TOKEN === undefined ? thrown.message : undefined;
}
