// POST /api/accounts/{id}/pause and …/resume, PUT /api/pools/{pool}/modes/{model}: sets one setting in the configuration file, keeps its
// comments, and reloads it (Q30, S9).
import { versionOf } from '../../../config/config-diff.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { type Endpoint, endpoint } from '../../api/endpoint.ts';
import { ACCOUNT_PAUSE, MODE_CHOICE, MODE_EDIT } from '../../replies/edit-replies.ts';
import { accountFor } from '../account-for.ts';
import { edited } from './edited.ts';
import { requirePool } from './key-endpoints.ts';

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

export const modeChoices = (gateway: AdminTarget): Endpoint =>
  endpoint({
    name: 'PUT /api/pools/{pool}/modes/{model}',
    summary: 'Sets the serving mode of an exposed model in a Pool that you own; auto leaves it to the catalog.',
    need: 'view',
    ofFile: true,
    body: MODE_CHOICE,
    reply: MODE_EDIT,
    refuses: [404, 409, 422],
    async answer({ asker, path: { pool = '', model = '' }, body: { mode } }) {
      requirePool(asker, pool);
      const { changed } = await edited(gateway, asker, { do: 'mode.set', pool, model, mode });
      const { config } = gateway.loaded;
      const inForce = config.pools.find(({ id }) => id === pool)?.serving_modes[model] ?? 'auto';
      return { pool, model, mode: inForce, changed, version: versionOf(config) };
    },
  });
