// Makes an edit with the gateway that runs on the file, or in the file itself if none runs.
import { editConfig, type ResultOf } from '../../config/file/edits/edit-config.ts';
import type { EditOrder } from '../../config/file/edits/edit-order.ts';
import { type CommonOptions, type Io, inspectValid } from '../command.ts';
import { adminOf } from '../gateway/address.ts';
import { reasonAlone } from '../gateway/alone.ts';
import { Unreachable } from '../gateway/ask.ts';
import { requestEdit } from '../gateway/calls.ts';
import { callOf } from './edit-calls.ts';

export type OrderedEdit<Order extends EditOrder> = ResultOf<Order> & {
  /** The reason why no gateway made the edit. Undefined if one did. */
  readonly alone: string | undefined;
};

/** @throws {ConfigError} if the file is invalid, or would be after the edit @throws {CommandFailure} if the gateway refuses the edit */
export async function orderEdit<Order extends EditOrder>(
  order: Order,
  { config: path }: Pick<CommonOptions, 'config'>,
  io: Io,
): Promise<OrderedEdit<Order>> {
  const config = await inspectValid(path, io);
  try {
    return { ...(await requestEdit(adminOf(config, io, path), callOf(order))), alone: undefined };
  } catch (thrown) {
    const alone = reasonAlone(thrown, io);
    if (alone === undefined) throw thrown;
    if (!(thrown instanceof Unreachable)) io.err(`note: ${alone}; the command edits the file itself\n`);
    return { ...(await editConfig(path, order)), alone };
  }
}
