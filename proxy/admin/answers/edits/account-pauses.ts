// POST /api/accounts/{id}/pause and …/resume: edits the configuration file, keeps its comments, and reloads it (S9).
import type { AdminTarget } from '../../admin-target.ts';
import { type Endpoint, endpoint } from '../../api/endpoint.ts';
import { ACCOUNT_PAUSE } from '../../replies/edit-replies.ts';
import { accountFor } from '../account-for.ts';
import { edited } from './edited.ts';

export const accountPauses = (gateway: AdminTarget): readonly Endpoint[] => [
  pausing(gateway, 'POST /api/accounts/{id}/pause', true, 'Sends no further turns to an account, in any Pool; running turns end.'),
  pausing(gateway, 'POST /api/accounts/{id}/resume', false, 'Sends turns to a paused account again.'),
];

const pausing = (gateway: AdminTarget, name: Endpoint['name'], paused: boolean, summary: string): Endpoint =>
  endpoint({
    name,
    summary,
    need: 'view',
    ofFile: true,
    reply: ACCOUNT_PAUSE,
    refuses: [404, 409, 422],
    async answer({ asker, path: { id = '' } }) {
      const { id: account } = accountFor(gateway, asker, id);
      const { changed } = await edited(gateway, asker, { do: 'account.pause', id: account, paused });
      return { account, paused, changed };
    },
  });
