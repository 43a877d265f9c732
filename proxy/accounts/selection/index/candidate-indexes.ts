// One candidate index for each Pool, model and tier, and the availability of an account for a turn. An index is made at the first turn, and
// made again when the catalog changes.
import type { Clock } from '../../../base/time/clock.ts';
import { tiersFrom } from '../../../models/pool-model.ts';
import type { Lack } from '../../../turn/provider/lack.ts';
import type { PoolConfig } from '../../../turn/settings.ts';
import { tiersOf } from '../../../turn/tiers.ts';
import type { AccountRecord, AccountRecords } from '../../account-record.ts';
import type { Health } from '../../health/health.ts';
import { modelOf } from '../../scope.ts';
import type { Demand, Tried } from '../demand.ts';
import type { Left } from '../selection-result.ts';
import type { Sources } from '../sources.ts';
import { learns, STRATEGIES } from '../strategies/strategies.ts';
import type { Learning, Strategy } from '../strategies/strategy.ts';
import { CandidateIndex } from './candidate-index.ts';

export interface CandidateIndexesOptions {
  readonly clock: Clock;
  readonly sources: Sources;
  readonly health: Health;
  readonly records: AccountRecords;
}

type Tiers = readonly [CandidateIndex, ...CandidateIndex[]];

export class CandidateIndexes {
  readonly #options: CandidateIndexesOptions;
  /** The indexes by the Pool's object in the configuration, so those of an old configuration are collected after its last turn. */
  #byPool = new WeakMap<PoolConfig, Map<string, Tiers>>();
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

  /** The refreshed index of the turn's Pool and model; with several tiers, that of the lowest tier. */
  of({ turn, scope }: Pick<Demand, 'turn' | 'scope'>): CandidateIndex {
    const [index] = this.all(turn.pool, scope);
    index.refresh(this.#options.clock.now());
    return index;
  }

  /** The refreshed indexes of all tiers, the lowest first. */
  inTiers({ turn, scope }: Pick<Demand, 'turn' | 'scope'>): Tiers {
    const indexes = this.all(turn.pool, scope);
    for (const index of indexes) index.refresh(this.#options.clock.now());
    return indexes;
  }

  /** The refreshed index that has the account; if none has it, that of the lowest tier. */
  with(record: AccountRecord, pool: PoolConfig, scope: string): CandidateIndex {
    const indexes = this.all(pool, scope);
    const index = indexes.find((one) => one.get(record)) ?? indexes[0];
    index.refresh(this.#options.clock.now());
    return index;
  }

  /**
   * The indexes of all tiers, the lowest first, without a refresh.
   * @param scope the exposed model id, or the scope of a route without a model
   */
  all(pool: PoolConfig, scope: string): Tiers {
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

  /** @param record undefined for an account that is not configured */
  availabilityAt(record: AccountRecord | undefined, demand: Demand, tried: Tried): Exclude<Left, 'over_bound' | 'lower_tier'> {
    const { turn, scope, lacking, tiers } = demand;
    const { clock, sources } = this.#options;
    if (!record) return 'not_a_source';
    const { id } = record;
    const indexes = this.all(turn.pool, scope);
    // A pin may lead to a source that is no candidate.
    if (!indexes.some((index) => index.get(record)) && !sources.serves(turn.pool, scope, id)) return 'not_a_source';
    const lack = lacking.get(id) ?? (tiers && excludedAt(id, demand, indexes[0]));
    if (lack) return lack.reason;
    if (tried.has(id)) return 'tried';
    record.readQuota(clock.now());
    return record.availability(scope);
  }

  /** What the Pool's strategy learns from an attempt at this account; undefined if it learns nothing. */
  learning({ turn, scope }: Demand, record: AccountRecord): Learning | undefined {
    return learns(turn.pool.strategy) ? this.with(record, turn.pool, scope).learning(record, turn) : undefined;
  }

  /** Drops all indexes, because the accounts were configured again. */
  clear(): void {
    this.#byPool = new WeakMap();
    this.#former = this.#strategies;
    this.#strategies = new Map();
  }

  #create(pool: PoolConfig, scope: string, source: CandidateIndex['source']): CandidateIndex {
    const { records } = this.#options;
    const weights = new Map(pool.assignments.map(({ account, weight }) => [account, weight]));
    const strategy = this.#strategyOf(pool, source.tier ? `${scope} ${source.tier}` : scope);
    return new CandidateIndex({
      source,
      model: modelOf(scope),
      scope,
      weightOf: (account) => weights.get(account) ?? 1,
      records,
      strategy,
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

/** Why the turn cannot go to the account because of its tier; undefined if it can. */
function excludedAt(account: string, { turn, tiers }: Demand, lowest: CandidateIndex): Lack | undefined {
  return tiers?.lackAt(account, { tier: tiersOf(turn.pool).tierOf(account), lowest: lowest.tier, base: undefined });
}
