// The prices of the accounts that a turn may reach. A limit in USD reserves at the highest of them (AA71).
import { oncePerObject } from '../../base/process/once-per-object.ts';
import { hasOwnPrices, priceAt } from '../../turn/costs/prices.ts';
import type { AccountConfig, PoolConfig } from '../../turn/settings.ts';
import type { ReachablePrices } from '../accounting.ts';

export interface ReachablePricesOptions {
  readonly loaded: () => { readonly config: { readonly accounts: readonly AccountConfig[] } };
  /** Whether the account is a source of the model. */
  readonly serves: (pool: PoolConfig, model: string, account: string) => boolean;
}

/** Undefined for Pools whose accounts have no prices of their own, so that nothing is looked up for their turns. */
export function reachablePrices({ loaded, serves }: ReachablePricesOptions): ReachablePrices {
  const pricedIn = oncePerObject(({ assignments }: PoolConfig): readonly AccountConfig[] => {
    const { accounts } = loaded().config;
    const assigned = assignments.flatMap(({ account, active, eligible }) =>
      active && eligible ? accounts.filter(({ id, visible }) => id === account && visible) : [],
    );
    return assigned.some(hasOwnPrices) ? assigned : [];
  });
  return ({ pool, model, key }) => {
    const accounts = pricedIn(pool);
    if (accounts.length === 0 || !model) return undefined;
    const sources = accounts.filter(({ id }) => serves(pool, model.id, id));
    const tierOf = new Map(pool.assignments.map(({ account, tier }) => [account, tier]));
    const lowest = Math.min(...sources.map(({ id }) => tierOf.get(id) ?? 0));
    const reached = key.overflow ? sources : sources.filter(({ id }) => tierOf.get(id) === lowest);
    return reached.length === 0 ? undefined : reached.map((account) => priceAt(account, model.id, pool));
  };
}
