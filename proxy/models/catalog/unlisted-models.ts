// Warns of models that the lists of native clients leave out, because their entry lacks a member that such clients need (AA11, Q13).
import type { Log } from '../../base/process/log.ts';
import type { UnlistedModel } from '../lists/backend-list.ts';

export class UnlistedModels {
  readonly #log: Pick<Log, 'warn'>;
  readonly #warned = new Set<string>();

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log;
  }

  /** Warns once of each model that a list of the Pool left out. */
  leftOut(pool: string, models: readonly UnlistedModel[]): void {
    for (const { model, member } of models) {
      const name = JSON.stringify([pool, model, member]);
      if (this.#warned.has(name)) continue;
      this.#warned.add(name);
      const message = `/v1/models alone has it: native clients need ${member} in its entry, which an API account sets in native of its catalog`;
      this.#log.warn('model_not_in_native_list', { pool, model, member, message });
    }
  }
}
