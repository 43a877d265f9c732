// Which accounts a turn of a Pool could go to at all: the sources of its model, or every account of the Pool where none is named.

import type { Candidates } from '../../models/pool-model.ts';
import type { AccountConfig, PoolConfig } from '../../turn/settings.ts';
import { isModelless } from './demand.ts';

export interface SourcesOptions {
  /** `ModelDirectory.candidates`: the same object for as long as it says the same. */
  readonly candidates: (pool: PoolConfig, model: string) => Candidates;
  /** Whether an account is a routable-by-configuration source of a model, whatever its window: pins may leave the cohort (Q12). */
  readonly serves: (pool: PoolConfig, model: string, account: string) => boolean;
  readonly account: (id: string) => AccountConfig | undefined;
}

export class Sources {
  readonly #options: SourcesOptions;
  readonly #all = new WeakMap<PoolConfig, Candidates>();

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  /** @param scope a model's exposed id, or a route's own word */
  of(pool: PoolConfig, scope: string): Candidates {
    return isModelless(scope) ? this.#everyAccount(pool) : this.#options.candidates(pool, scope);
  }

  /** Whether a pinned turn may go there. */
  serves(pool: PoolConfig, scope: string, account: string): boolean {
    if (isModelless(scope)) return this.#everyAccount(pool).preferred.includes(account);
    return this.#options.serves(pool, scope, account);
  }

  #everyAccount(pool: PoolConfig): Candidates {
    const known = this.#all.get(pool);
    if (known) return known;
    const usable = pool.assignments.filter(
      ({ account, active, eligible }) => active && eligible && this.#options.account(account)?.visible,
    );
    const made = { preferred: usable.map(({ account }) => account), overflow: [] };
    this.#all.set(pool, made);
    return made;
  }
}
