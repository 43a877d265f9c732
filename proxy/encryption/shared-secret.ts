// A secret that all nodes on one database must have in common: a node with another one does not start (Q34).
import { type Store, StoreError } from '../../store/store.ts';
import type { StoreKey } from './store-key.ts';

/**
 * Compares the secret with that of the nodes that started earlier, by a digest of a fixed text under it. The first node leaves its own.
 * @throws StoreError `other_secret`
 */
export async function agreeOnSecret(
  { checkValues }: Pick<Store, 'checkValues'>,
  setting: 'store_key' | 'node.secret',
  key: Pick<StoreKey, 'digest'>,
): Promise<void> {
  if (await checkValues.agree(setting, key.digest('check value').of('poolgate'))) return;
  throw new StoreError('other_secret', `${setting}: the nodes on this database have another secret; give this node theirs`);
}
