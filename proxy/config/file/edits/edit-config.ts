// Carries out an ordered edit on a file: the same for commands and the admin API.
import { inBackground } from '../../loading/background.ts';
import { type EditOrder, prefixOf, type SecretOrder } from './edit-order.ts';
import type { Pools } from './edited-pools.ts';
import { makeSecret, secretName } from './new-secret.ts';
import { runEdit } from './run-edit.ts';

export interface EditOptions {
  /** The Pools that may be changed; all if absent. */
  readonly owned?: Pools;
  /** Whether the edited file is also checked for secrets that cannot be read, as a reload does; default false. */
  readonly secrets?: boolean;
}

export interface EditResult {
  /** Whether the file was changed. */
  readonly changed: boolean;
}

/** Of an order that makes a secret: it is nowhere else. */
export interface SecretResult extends EditResult {
  readonly made: { readonly secret: string; readonly name: string };
}

export type ResultOf<Order extends EditOrder> = Order extends SecretOrder ? SecretResult : EditResult;

/**
 * @throws {ConfigError} when the file is invalid
 * @throws {EditRefused} when the edited file would be invalid
 * @throws {InvalidEdit} when its content does not permit the edit
 * @throws {EditError} when it cannot be edited or replaced
 */
export async function editConfig<Order extends EditOrder>(
  path: string,
  order: Order,
  { owned, secrets = false }: EditOptions = {},
): Promise<ResultOf<Order>> {
  const prefix = prefixOf(order);
  const made = prefix === undefined ? undefined : makeSecret(prefix);
  const task = { path, order, owned, secrets, sha256: made?.sha256 ?? '' };
  const changed = await inBackground(path, { name: 'edit', input: task }, () => runEdit(task));
  const result: EditResult | SecretResult = made ? { changed, made: { secret: made.secret, name: secretName(made.sha256) } } : { changed };
  return result as ResultOf<Order>;
}
