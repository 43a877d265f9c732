// Warns once of each model of an API account that native clients cannot use well: its window is not known, so they are given one that
// may be wrong, or their lists leave it out (AA11, Q13).
import type { Log } from '../../base/process/log.ts';
import type { UnlistedModel } from '../lists/backend-list.ts';
import { UNKNOWN_WINDOW } from '../lists/native-entry.ts';
import type { AccountCatalogs } from './account-catalogs.ts';

export class ModelWarnings {
  readonly #log: Pick<Log, 'warn'>;
  /** The account and model, or the Pool, model and member, of each warning. */
  readonly #warned = new Set<string>();

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log;
  }

  /** Warns of the models of an account without a known window. */
  read(catalogs: AccountCatalogs, account: string): void {
    for (const [model, { own }] of catalogs.get(account)?.models ?? []) {
      if (own?.kind !== 'turns' || own.contextWindow !== undefined || !this.#isFirst([account, model])) continue;
      const message = `native clients get a window of ${UNKNOWN_WINDOW}: declare context_window in the account's catalog`;
      this.#log.warn('model_window_unknown', { account, model, message });
    }
  }

  /** Warns of the models that a list of the Pool left out, because their entry lacks a member that native clients need. */
  leftOut(pool: string, models: readonly UnlistedModel[]): void {
    for (const { model, member } of models) {
      if (!this.#isFirst([pool, model, member])) continue;
      const message = `/v1/models alone has it: native clients need ${member} in its entry, which an API account sets in native of its catalog`;
      this.#log.warn('model_not_in_native_list', { pool, model, member, message });
    }
  }

  #isFirst(names: readonly string[]): boolean {
    const name = JSON.stringify(names);
    if (this.#warned.has(name)) return false;
    this.#warned.add(name);
    return true;
  }
}
