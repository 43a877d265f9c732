// Who else could take a model's turns: asked before a burst of failures closes an account, so that it never closes the last one (Q5).
import type { PoolConfig } from '../../turn/settings.ts';
import type { Others } from '../health/account-health.ts';
import type { Sources } from './sources.ts';

export interface OthersOptions {
  readonly pools: () => readonly PoolConfig[];
  readonly sources: Sources;
  /** The exposed models of an account. */
  readonly modelsOf: (account: string) => Iterable<string>;
  /** Routable, and not out of quota. */
  readonly usable: (account: string, model: string) => boolean;
}

export function othersIn({ pools, sources, modelsOf, usable }: OthersOptions): Others {
  const servedBySomebodyElse = (pool: PoolConfig, model: string, insteadOf: string): boolean => {
    const { preferred, overflow } = sources.of(pool, model);
    if (!preferred.includes(insteadOf) && !overflow.includes(insteadOf)) return true;
    const usableElse = (id: string): boolean => id !== insteadOf && usable(id, model);
    return preferred.some(usableElse) || overflow.some(usableElse);
  };
  return {
    modelsOf,
    couldTake: (model, insteadOf) => pools().every((pool) => servedBySomebodyElse(pool, model, insteadOf)),
  };
}
