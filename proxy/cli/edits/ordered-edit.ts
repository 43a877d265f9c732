// Carries out an edit: by the gateway that runs on the file, and in the file itself where none does.
import { type EditResult, editConfig } from '../../config/file/edits/edit-config.ts';
import type { EditOrder } from '../../config/file/edits/edit-order.ts';
import { CommandFailure, type CommonOptions, type Io, inspectValid } from '../command.ts';
import { adminOf } from '../gateway/address.ts';
import { Refused, Unreachable } from '../gateway/ask.ts';
import { requestEdit } from '../gateway/calls.ts';
import { callOf } from './edit-calls.ts';

export interface OrderedEdit extends EditResult {
  /** Why no gateway made the edit; undefined where one did. */
  readonly alone: string | undefined;
}

/**
 * @throws {ConfigError} when the file is invalid, or would be with the edit
 * @throws {CommandFailure} when the gateway refuses the edit
 */
export async function orderEdit(order: EditOrder, { config: path }: Pick<CommonOptions, 'config'>, io: Io): Promise<OrderedEdit> {
  const config = await inspectValid(path, io);
  try {
    return { ...(await requestEdit(adminOf(config, io, path), callOf(order))), alone: undefined };
  } catch (thrown) {
    const alone = reasonToEdit(thrown, io);
    if (alone === undefined) throw thrown;
    if (!(thrown instanceof Unreachable)) io.err(`note: ${alone}; the command edits the file itself\n`);
    return { ...(await editConfig(path, order)), alone };
  }
}

/**
 * Why the command edits the file itself: no gateway runs on it, or the one that does cannot write it. Who may write the file needs no
 * token, which may be the one that is to be replaced. Undefined where the gateway refuses the edit, or may have made it.
 */
function reasonToEdit(thrown: unknown, { env }: Pick<Io, 'env'>): string | undefined {
  if (thrown instanceof Unreachable) return thrown.isLate ? undefined : thrown.message;
  if (!(thrown instanceof CommandFailure)) return undefined;
  // Another program, or another version: neither knows of such edits.
  if (!(thrown instanceof Refused)) return thrown.message;
  if (thrown.code === 'other_file' || thrown.code === 'edits_off') return thrown.message;
  return thrown.status === 401 && env.POOLGATE_TOKEN === undefined ? thrown.message : undefined;
}
