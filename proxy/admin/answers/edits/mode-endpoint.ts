// PUT /api/pools/{pool}/modes/{model}: the serving mode of a model in a Pool (Q30, S9).
import { versionOf } from '../../../config/config-diff.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { type Endpoint, endpoint } from '../../api/endpoint.ts';
import { MODE_CHOICE, MODE_EDIT } from '../../replies/edit-replies.ts';
import { edited } from './edited.ts';
import { requirePool } from './key-endpoints.ts';

export const modeEdits = (gateway: AdminTarget): Endpoint =>
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
