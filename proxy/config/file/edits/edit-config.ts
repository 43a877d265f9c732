// Carries out an ordered edit on a file: the same for commands and the admin API.
import { inBackground } from '../../loading/background.ts';
import { type EditOrder, PREFIXES } from './edit-order.ts';
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
  /** The secret that was made: it is nowhere else. */
  readonly made?: { readonly secret: string; readonly name: string };
}

/**
 * @throws {ConfigError} when the file is invalid
 * @throws {EditRefused} when the edited file would be invalid
 * @throws {InvalidEdit} when its content does not permit the edit
 * @throws {EditError} when it cannot be edited or replaced
 */
export async function editConfig(path: string, order: EditOrder, { owned, secrets = false }: EditOptions = {}): Promise<EditResult> {
  const prefix = PREFIXES[order.do];
  const made = prefix === undefined ? undefined : makeSecret(prefix);
  const task = { path, order, owned, secrets, sha256: made?.sha256 ?? '' };
  const changed = await inBackground(path, { name: 'edit', input: task }, () => runEdit(task));
  return { changed, ...(made && { made: { secret: made.secret, name: secretName(made.sha256) } }) };
}
