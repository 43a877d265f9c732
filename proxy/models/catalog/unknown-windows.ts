// Warns of models of API accounts whose window is not known, because native clients are given one that may be wrong (AA11).
import type { Log } from '../../base/process/log.ts';
import { UNKNOWN_WINDOW } from '../lists/native-entry.ts';
import type { AccountCatalogs } from './account-catalogs.ts';

export class UnknownWindows {
  readonly #log: Log;
  readonly #warned = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Warns once of each such model of an account that was read. */
  read(catalogs: AccountCatalogs, account: string): void {
    for (const [model, { own }] of catalogs.get(account)?.models ?? []) {
      if (own?.kind !== 'turns' || own.contextWindow !== undefined || this.#warned.has(`${account} ${model}`)) continue;
      this.#warned.add(`${account} ${model}`);
      const message = `native clients are told a window of ${UNKNOWN_WINDOW}: declare context_window in the account's catalog`;
      this.#log.warn('model_window_unknown', { account, model, message });
    }
  }
}
