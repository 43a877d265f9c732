// Makes an edit that an operator requested over the API. The edit is effective when the answer is sent.
import type { ResultOf } from '../../../config/file/edits/edit-config.ts';
import type { EditOrder } from '../../../config/file/edits/edit-order.ts';
import { InvalidEdit, type Objection } from '../../../config/file/edits/invalid-edit.ts';
import { editsOff } from '../../../config/file/edits-off.ts';
import { EditError, FileChanged } from '../../../config/file/yaml-places.ts';
import { type Asker, ownedPools } from '../../access/asker.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { ApiRefusal } from '../../api/endpoint.ts';

const STATUSES: Readonly<Record<Objection, 400 | 403 | 404 | 409>> = { argument: 400, right: 403, unknown: 404, state: 409 };

/** @throws ApiRefusal with the reason if nothing was changed @throws ConfigError */
export async function edited<Order extends EditOrder>(
  { follower, loaded: { path } }: AdminTarget,
  asker: Asker,
  order: Order,
): Promise<ResultOf<Order>> {
  const off = await editsOff(path);
  if (off !== undefined) throw new ApiRefusal(409, off, { code: 'edits_off' });
  try {
    return await follower.edit(asker.actor, order, ownedPools(asker));
  } catch (thrown) {
    if (thrown instanceof InvalidEdit) {
      const { objection, message, param } = thrown;
      throw new ApiRefusal(STATUSES[objection], message, param === undefined ? {} : { param });
    }
    if (thrown instanceof FileChanged) throw new ApiRefusal(409, thrown.message, { code: 'file_changed' });
    if (thrown instanceof EditError) throw new ApiRefusal(409, thrown.message);
    throw thrown;
  }
}
