// POST /api/accounts/{id}/pause and …/resume: edits the configuration file, with its comments kept, and reloads it (S9).
import { accountPause } from '../../config/file/account-pause.ts';
import { EditError } from '../../config/file/edit.ts';
import { rewriteConfig } from '../../config/file/file-replacement.ts';
import { flag, object, text } from '../../turn/json/field-schemas.ts';
import type { AdminTarget } from '../admin-target.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../api/endpoint.ts';
import { accountFor } from './account-for.ts';

const REPLY = object({
  account: text('Id of the account.'),
  paused: flag('Whether it is paused now.'),
  changed: flag('Whether the file was changed.'),
});

export const accountPauses = (gateway: AdminTarget): readonly Endpoint[] => [
  pausing(gateway, 'POST /api/accounts/{id}/pause', true, 'Sends no further turns to an account, in any Pool; running turns end.'),
  pausing(gateway, 'POST /api/accounts/{id}/resume', false, 'Sends turns to a paused account again.'),
];

const pausing = (gateway: AdminTarget, name: Endpoint['name'], paused: boolean, summary: string): Endpoint =>
  endpoint({
    name,
    summary,
    need: 'view',
    reply: REPLY,
    refuses: [404, 409, 422],
    async answer({ asker, path: { id = '' } }) {
      const { id: account } = accountFor(gateway, asker, id);
      const changed = await edited(gateway.loaded.path, account, paused);
      // Also for an unchanged file, which may have been edited a moment ago.
      await gateway.follower.reload(asker.actor);
      return { account, paused, changed };
    },
  });

/** @throws ApiRefusal where the file cannot be written, with the reason */
async function edited(path: string, account: string, paused: boolean): Promise<boolean> {
  try {
    return await rewriteConfig(path, (input) => accountPause(input, account, paused));
  } catch (thrown) {
    if (thrown instanceof EditError) throw new ApiRefusal(409, thrown.message);
    throw thrown;
  }
}
