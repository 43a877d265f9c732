// Applies an edit to a file. Commands and the admin API use the same function.
import { inBackground } from '../../loading/background.ts';
import { type EditOrder, prefixOf, type SecretOrder } from './edit-order.ts';
import type { Pools } from './edited-pools.ts';
import { makeSecret, secretName } from './new-secret.ts';
import { runEdit } from './run-edit.ts';

export interface EditOptions {
  /** The Pools that may be changed. All if absent. */
  readonly owned?: Pools;
  /** Whether the edited file is also checked for secrets that cannot be read, as in a reload. Default: false. */
  readonly secrets?: boolean;
}

export interface EditResult {
  /** Whether the file was changed. */
  readonly changed: boolean;
}

/** The result of an edit that makes a secret. The secret is kept nowhere else. */
export interface SecretResult extends EditResult {
  readonly made: { readonly secret: string; readonly name: string };
}

export type ResultOf<Order extends EditOrder> = Order extends SecretOrder ? SecretResult : EditResult;

/**
 * @throws {ConfigError} if the file is invalid
 * @throws {EditRefused} if the edited file would be invalid
 * @throws {InvalidEdit} if the content of the file does not permit the edit
 * @throws {EditError} if the file cannot be edited or replaced
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
