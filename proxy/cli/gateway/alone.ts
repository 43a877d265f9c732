// When a command works with the file alone, and why.
import { CommandFailure, type Io } from '../command.ts';
import { GatewayRefused, Unreachable } from './ask.ts';

/**
 * Why no gateway does it: none runs on the file, or the one that does cannot write it. Who may read or write the file needs no token, which
 * may be the one that is to be replaced. Undefined where the gateway refuses it, or may have done it.
 */
export function reasonAlone(thrown: unknown, { env }: Pick<Io, 'env'>): string | undefined {
  if (thrown instanceof Unreachable) return thrown.isLate ? undefined : thrown.message;
  if (!(thrown instanceof CommandFailure)) return undefined;
  // Another program, or another version: neither knows of it.
  if (!(thrown instanceof GatewayRefused)) return thrown.message;
  if (thrown.code === 'other_file' || thrown.code === 'edits_off') return thrown.message;
  return thrown.status === 401 && env.POOLGATE_TOKEN === undefined ? thrown.message : undefined;
}
