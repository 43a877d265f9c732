// The accounts that a turn of a Pool may go to: the sources of its model, or all accounts of the Pool for routes without a model.
// The Pool is read as it is configured now: a turn that waits or fails over does not go to an account that was paused or taken from the Pool meanwhile.

import type { Candidates } from '../../models/pool-model.ts';
import type { AccountConfig, PoolConfig } from '../../turn/settings.ts';
import type { Alternatives } from '../health/account-health.ts';
import { isModelless, modelOf } from '../scope.ts';

export interface SourcesOptions {
  /** The Pool in the current configuration; the given one if that configuration has no such Pool. */
  readonly current: (pool: PoolConfig) => PoolConfig;
  /** `ModelDirectory.candidates`: the same object while its content is the same. */
  readonly candidates: (pool: PoolConfig, model: string) => Candidates;
  /** Whether the account is a configured source of the model, whatever its window: pins may leave the cohort (Q12). */
  readonly serves: (pool: PoolConfig, model: string, account: string) => boolean;
  readonly account: (id: string) => AccountConfig | undefined;
}

export class Sources {
  readonly #options: SourcesOptions;
  readonly #all = new WeakMap<PoolConfig, Candidates>();

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  candidates(pool: PoolConfig, scope: string): Candidates {
    const current = this.#options.current(pool);
    return isModelless(scope) ? this.#allAccounts(current) : this.#options.candidates(current, modelOf(scope));
  }

  /** Whether a pinned turn may go there. */
  serves(pool: PoolConfig, scope: string, account: string): boolean {
    const current = this.#options.current(pool);
    if (isModelless(scope)) return this.#allAccounts(current).preferred.includes(account);
    return this.#options.serves(current, modelOf(scope), account);
  }

  #allAccounts(pool: PoolConfig): Candidates {
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

export interface AlternativesOptions {
  readonly pools: () => readonly PoolConfig[];
  readonly sources: Sources;
  /** The exposed models of an account. */
  readonly modelsOf: (account: string) => Iterable<string>;
  /** Whether the account is routable and has quota. */
  readonly usable: (account: string, scope: string) => boolean;
}

/** Used by health before a cooldown opens, so that failures never close the last account of a model (Q5). */
export function alternativesIn({ pools, sources, modelsOf, usable }: AlternativesOptions): Alternatives {
  const existIn = (pool: PoolConfig, scope: string, account: string): boolean => {
    const { preferred, overflow } = sources.candidates(pool, scope);
    if (!preferred.includes(account) && !overflow.includes(account)) return true;
    const isAlternative = (id: string): boolean => id !== account && usable(id, scope);
    return preferred.some(isAlternative) || overflow.some(isAlternative);
  };
  return {
    modelsOf,
    existFor: (scope, account) => pools().every((pool) => existIn(pool, scope, account)),
  };
}
