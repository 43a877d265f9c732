// POST /api/keys, PATCH /api/keys/{id}, POST /api/keys/{id}/rotate, …/pause, …/resume and …/revoke: edits of the Pool API keys (S9).
import { versionOf } from '../../../config/config-diff.ts';
import type { EditResult } from '../../../config/file/edits/edit-config.ts';
import type { EditOrder } from '../../../config/file/edits/edit-order.ts';
import { shownKey } from '../../../mcp/tools/list-keys.ts';
import { type Asker, mayChangePool } from '../../access/asker.ts';
import type { AdminTarget } from '../../admin-target.ts';
import { ApiRefusal, type Endpoint, endpoint } from '../../api/endpoint.ts';
import { KEY_CHANGES, KEY_EDIT, type KeyEditReply, MADE_KEY, type MadeKeyReply, NEW_KEY } from '../../replies/edit-replies.ts';
import { edited } from './edited.ts';

export const keyEdits = (gateway: AdminTarget): readonly Endpoint[] => [
  endpoint({
    name: 'POST /api/keys',
    summary: 'Creates a key of a Pool that you own. Its secret is in this answer, and nowhere else.',
    need: 'view',
    ofFile: true,
    body: NEW_KEY,
    reply: MADE_KEY,
    refuses: [404, 409, 422],
    async answer({ asker, body: { id, pool, ...policies } }) {
      requirePool(asker, pool);
      return made(gateway, asker, { do: 'key.create', id, pool, policies });
    },
  }),
  endpoint({
    name: 'PATCH /api/keys/{id}',
    summary: 'Changes what a key may use; null removes a policy or a limit, and what is absent stays.',
    need: 'view',
    ofFile: true,
    body: KEY_CHANGES,
    reply: KEY_EDIT,
    refuses: [404, 409, 422],
    async answer({ asker, path: { id = '' }, body }) {
      requireKey(asker, id);
      return inForce(gateway, asker, id, await edited(gateway, asker, { do: 'key.change', id, changes: body }));
    },
  }),
  endpoint({
    name: 'POST /api/keys/{id}/rotate',
    summary: 'Adds a secret to a key, which is in this answer and nowhere else; the former ones work until their hashes leave the file.',
    need: 'view',
    ofFile: true,
    reply: MADE_KEY,
    refuses: [404, 409, 422],
    async answer({ asker, path: { id = '' } }) {
      requireKey(asker, id);
      return made(gateway, asker, { do: 'key.rotate', id });
    },
  }),
  becoming(gateway, 'POST /api/keys/{id}/pause', 'paused', 'Refuses a key until it is resumed.'),
  becoming(gateway, 'POST /api/keys/{id}/resume', 'active', 'Accepts a paused key again.'),
  becoming(gateway, 'POST /api/keys/{id}/revoke', 'revoked', 'Refuses a key for ever.'),
];

const becoming = (gateway: AdminTarget, name: Endpoint['name'], status: 'active' | 'paused' | 'revoked', summary: string): Endpoint =>
  endpoint({
    name,
    summary,
    need: 'view',
    ofFile: true,
    reply: KEY_EDIT,
    refuses: [404, 409, 422],
    async answer({ asker, path: { id = '' } }) {
      requireKey(asker, id);
      return inForce(gateway, asker, id, await edited(gateway, asker, { do: 'key.status', id, status }));
    },
  });

async function made(
  gateway: AdminTarget,
  asker: Asker,
  order: Extract<EditOrder, { readonly do: 'key.create' | 'key.rotate' }>,
): Promise<MadeKeyReply> {
  const result = await edited(gateway, asker, order);
  return { ...(await inForce(gateway, asker, order.id, result)), secret: result.made.secret };
}

/** The key with its current settings. */
async function inForce({ loaded }: AdminTarget, asker: Asker, id: string, { changed }: EditResult): Promise<KeyEditReply> {
  const view = asker.view();
  const key = view.key(id);
  if (!key) throw new ApiRefusal(409, `key '${id}' was removed by another edit after this one`);
  return { key: await shownKey(key, view), changed, version: versionOf(loaded.config) };
}

/**
 * Checks that the operator may change the key. If the operator sees all keys, the edit itself reports a key that does not exist.
 * @throws ApiRefusal
 */
function requireKey(asker: Asker, id: string): void {
  const view = asker.view();
  if (view.isWhole) return;
  const key = view.key(id);
  if (!key) throw new ApiRefusal(404, `there is no key '${id}'`);
  requirePool(asker, key.pool);
}

/** @throws ApiRefusal 404 for a Pool that the asker may not see, 403 for one that the asker does not own */
export function requirePool(asker: Asker, id: string): void {
  const view = asker.view();
  if (!view.isWhole && !view.poolIds.includes(id)) throw new ApiRefusal(404, `there is no Pool '${id}'`);
  if (!view.isWhole && !mayChangePool(asker, id)) throw new ApiRefusal(403, `Pool '${id}' is not one that you own`);
}
