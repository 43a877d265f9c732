// Checks a secret that all nodes on one database must share. A node with another secret does not start (Q34).
import { type Store, StoreError } from '../../store/store.ts';
import { StoreKey } from './store-key.ts';

/**
 * Compares the secret with that of nodes that started earlier, by a digest of a fixed text. The first node stores its digest.
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

/**
 * Checks that all nodes have the same secret for signing requests between nodes. It may be replaced while no node runs.
 * @throws StoreError `other_secret`
 */
export async function agreeOnNodeSecret(store: Pick<Store, 'checkValues' | 'nodes'>, secret: string): Promise<void> {
  if ((await store.nodes.list()).length === 0) await store.checkValues.forget('node.secret');
  await agreeOnSecret(store, 'node.secret', new StoreKey(secret));
}
