// One candidate index for each Pool, model and tier. It is made at the first turn, and made again when the catalog changes.
import type { Clock } from '../../../base/time/clock.ts';
import { tiersFrom } from '../../../models/pool-model.ts';
import type { PoolConfig } from '../../../turn/settings.ts';
import type { Health } from '../../health/health.ts';
import { modelOf } from '../../scope.ts';
import { type AccountLoads, availabilityOf, type QuotaView } from '../account-load.ts';
import type { Sources } from '../sources.ts';
import { STRATEGIES } from '../strategies/strategies.ts';
import type { Strategy } from '../strategies/strategy.ts';
import { CandidateIndex } from './candidate-index.ts';

export interface CandidateIndexesOptions {
  readonly clock: Clock;
  readonly sources: Sources;
  readonly health: Health;
  readonly quota: QuotaView;
  readonly loads: AccountLoads;
}

export class CandidateIndexes {
  readonly #options: CandidateIndexesOptions;
  /** The indexes by the Pool's object in the configuration, so those of an old configuration are collected after its last turn. */
  #byPool = new WeakMap<PoolConfig, Map<string, readonly [CandidateIndex, ...CandidateIndex[]]>>();
  /**
   * The strategies by Pool and scope that were used since the last configuration. What a strategy has learned outlasts catalogs and
   * configurations.
   */
  #strategies = new Map<string, Learned>();
  /** The strategies that were used with the previous configuration. */
  #former: ReadonlyMap<string, Learned> = new Map();

  constructor(options: CandidateIndexesOptions) {
    this.#options = options;
  }

  /** The refreshed index of the lowest tier. @param scope the exposed model id, or the scope of a route without a model */
  get(pool: PoolConfig, scope: string): CandidateIndex {
    const [index] = this.all(pool, scope);
    index.refresh(this.#options.clock.now());
    return index;
  }

  /** The indexes of all tiers, the lowest first, without a refresh. */
  all(pool: PoolConfig, scope: string): readonly [CandidateIndex, ...CandidateIndex[]] {
    const { sources, health } = this.#options;
    let byScope = this.#byPool.get(pool);
    if (!byScope) {
      byScope = new Map();
      this.#byPool.set(pool, byScope);
    }
    const source = sources.candidates(pool, scope);
    let indexes = byScope.get(scope);
    if (indexes?.[0].source !== source) {
      const [, ...higher] = tiersFrom(source);
      indexes = [this.#create(pool, scope, source), ...higher.map((tier) => this.#create(pool, scope, tier))];
      byScope.set(scope, indexes);
    }
    // A cooldown that has elapsed has to be among the changes.
    health.endElapsedCooldowns();
    return indexes;
  }

  /** Drops all indexes, because the loads were configured again. */
  clear(): void {
    this.#byPool = new WeakMap();
    this.#former = this.#strategies;
    this.#strategies = new Map();
  }

  #create(pool: PoolConfig, scope: string, source: CandidateIndex['source']): CandidateIndex {
    const { health, quota, clock, loads } = this.#options;
    const weights = new Map(pool.assignments.map(({ account, weight }) => [account, weight]));
    return new CandidateIndex({
      source,
      model: modelOf(scope),
      weightOf: (account) => weights.get(account) ?? 1,
      loads,
      strategy: this.#strategyOf(pool, source.tier ? `${scope} ${source.tier}` : scope),
      availabilityOf: (load) => availabilityOf(load, health, scope),
      readQuota: (load) => load.readQuota(quota, clock.now()),
    });
  }

  #strategyOf({ id, strategy: name }: PoolConfig, scope: string): Strategy {
    const place = `${id} ${scope}`;
    const known = this.#strategies.get(place) ?? this.#former.get(place);
    const learned = known?.name === name ? known : { name, strategy: STRATEGIES[name]() };
    this.#strategies.set(place, learned);
    return learned.strategy;
  }
}

interface Learned {
  readonly name: PoolConfig['strategy'];
  readonly strategy: Strategy;
}
