// The accounts that a turn of a Pool may go to: the sources of its model, or all accounts of the Pool on routes without a model. The
// current configuration of the Pool counts, so a turn that waits or fails over does not go to an account that was paused or removed from
// the Pool.
import { oncePerObject } from '../../base/process/once-per-object.ts';
import { type Candidates, linkedTiers, NO_CANDIDATES, tiersFrom } from '../../models/pool-model.ts';
import type { AccountConfig, PoolConfig } from '../../turn/settings.ts';
import { tiersOf } from '../../turn/tiers.ts';
import type { Alternatives } from '../health/account-breakers.ts';
import { isModelless, modelOf } from '../scope.ts';

export interface SourcesOptions {
  readonly models: {
    /** Returns the same object while the content is the same. */
    candidates(pool: PoolConfig, model: string): Candidates;
    /** Whether the account is a configured source of the model, whatever its window, because pins may leave the cohort (Q12). */
    serves(pool: PoolConfig, model: string, account: string): boolean;
  };
  readonly account: (id: string) => Pick<AccountConfig, 'visible'> | undefined;
}

export class Sources {
  readonly #options: SourcesOptions;
  /** The usable accounts of a Pool, by tier. */
  readonly #allAccounts = oncePerObject((pool: PoolConfig): Candidates => {
    const usable = pool.assignments.filter(
      ({ account, active, eligible }) => active && eligible && this.#options.account(account)?.visible,
    );
    const tiers = tiersOf(pool).all.flatMap((tier) => {
      const preferred = usable.flatMap((row) => (row.tier === tier ? row.account : []));
      return preferred.length > 0 ? [{ ...(tier > 0 && { tier }), preferred, overflow: [] }] : [];
    });
    return linkedTiers(tiers) ?? NO_CANDIDATES;
  });
  #pools: ReadonlyMap<string, PoolConfig> = new Map();

  constructor(options: SourcesOptions) {
    this.#options = options;
  }

  /** Applies the Pools of a configuration. */
  configure(pools: readonly PoolConfig[]): void {
    this.#pools = new Map(pools.map((pool) => [pool.id, pool]));
  }

  candidates(pool: PoolConfig, scope: string): Candidates {
    const current = this.#current(pool);
    return isModelless(scope) ? this.#allAccounts(current) : this.#options.models.candidates(current, modelOf(scope));
  }

  /** Whether a pinned turn may go there. */
  serves(pool: PoolConfig, scope: string, account: string): boolean {
    const current = this.#current(pool);
    if (isModelless(scope)) return accountsIn(this.#allAccounts(current)).includes(account);
    return this.#options.models.serves(current, modelOf(scope), account);
  }

  /** The Pool in the current configuration; the given one if that configuration has no such Pool. */
  #current(pool: PoolConfig): PoolConfig {
    return this.#pools.get(pool.id) ?? pool;
  }
}

/** The accounts of all tiers. */
export const accountsIn = (candidates: Candidates): readonly string[] =>
  candidates.next === undefined && candidates.overflow.length === 0
    ? candidates.preferred
    : [...tiersFrom(candidates)].flatMap(({ preferred, overflow }) => [...preferred, ...overflow]);

export interface AlternativesOptions {
  readonly pools: () => readonly PoolConfig[];
  readonly sources: Pick<Sources, 'candidates'>;
  /** The exposed models of an account. */
  readonly modelsOf: (account: string) => Iterable<string>;
  /** Whether the account is routable and has quota. */
  readonly usable: (account: string, scope: string) => boolean;
  /** Whether the caps of the account's tier have budget left. */
  readonly hasBudget: (pool: PoolConfig, account: string) => boolean;
}

/** Used by health before a cooldown opens, so that failures never close the last account of a model (Q5). */
export function alternativesIn({ pools, sources, modelsOf, usable, hasBudget }: AlternativesOptions): Alternatives {
  const existIn = (pool: PoolConfig, scope: string, account: string): boolean => {
    const accounts = accountsIn(sources.candidates(pool, scope));
    if (!accounts.includes(account)) return true;
    return accounts.some((id) => id !== account && usable(id, scope) && hasBudget(pool, id));
  };
  return {
    modelsOf,
    existFor: (scope, account) => pools().every((pool) => existIn(pool, scope, account)),
  };
}
