// GET /api/session: who is signed in, and what they may do.
import { editsOff } from '../../config/file/edits-off.ts';
import { flag, list, nullable, object, text } from '../../turn/json/field-schemas.ts';
import type { AdminTarget } from '../admin-target.ts';
import { type Endpoint, endpoint } from '../api/endpoint.ts';
import { EDITS } from '../replies/edit-replies.ts';

export const session = (gateway: AdminTarget): Endpoint =>
  endpoint({
    name: 'GET /api/session',
    summary: 'Who asks, and what they may see and change.',
    need: 'view',
    reply: object({
      operator: nullable(text('Id of the operator; null on loopback, where no sign-in is required.')),
      whole: flag('Whether they see and change everything.'),
      pools: list('The Pools that they see.', text('Id of a Pool.')),
      owns: list('The Pools whose keys they may change.', text('Id of a Pool.')),
      accounts: list('The accounts that they may act on.', text('Id of an account.')),
      edits: EDITS,
    }),
    async answer({ asker }) {
      const view = asker.view();
      return {
        operator: asker.operator,
        whole: view.isWhole,
        pools: view.poolIds,
        owns: view.pools.filter((pool) => view.isWhole || view.isOwned(pool)).map(({ id }) => id),
        accounts: view.accountIds.filter((id) => view.ownsAccount(id)),
        edits: { off: (await editsOff(gateway.loaded.path)) ?? null },
      };
    },
  });
