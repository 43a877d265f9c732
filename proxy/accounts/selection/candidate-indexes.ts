// A roster for each Pool and model that turns ask for, made at first need, and anew where the catalog says something else.

import type { Clock } from '../../clock.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import type { Health } from '../health/health.ts';
import type { AccountLoads } from './account-load.ts';
import { availabilityOf } from './availability.ts';
import { CandidateIndex } from './candidate-index.ts';
import type { QuotaView } from './quota-view.ts';
import type { Sources } from './sources.ts';
import { STRATEGIES } from './strategy.ts';

export interface RostersOptions {
  readonly clock: Clock;
  readonly sources: Sources;
  readonly health: Health;
  readonly quota: QuotaView;
  readonly seats: AccountLoads;
}

export class CandidateIndexes {
  readonly #options: RostersOptions;
  /** By the configuration's own object: the rosters of an old one go with the last turn that holds it. */
  #byPool = new WeakMap<PoolConfig, Map<string, CandidateIndex>>();

  constructor(options: RostersOptions) {
    this.#options = options;
  }

  /** Up to date. @param scope the exposed model id, or a route's own word */
  of(pool: PoolConfig, scope: string): CandidateIndex {
    const { sources, clock, health } = this.#options;
    let ofPool = this.#byPool.get(pool);
    if (!ofPool) {
      ofPool = new Map();
      this.#byPool.set(pool, ofPool);
    }
    const candidates = sources.of(pool, scope);
    let roster = ofPool.get(scope);
    if (roster?.candidates !== candidates) {
      roster = this.#made(pool, scope, candidates);
      ofPool.set(scope, roster);
    }
    // A cooldown that is over by now is to be among the changes.
    health.catchUp();
    roster.refresh(clock.now());
    return roster;
  }

  /** The seats are others: every roster is made anew. */
  forget(): void {
    this.#byPool = new WeakMap();
  }

  #made(pool: PoolConfig, scope: string, candidates: CandidateIndex['candidates']): CandidateIndex {
    const { health, quota, clock, seats } = this.#options;
    const weights = new Map(pool.assignments.map(({ account, weight }) => [account, weight]));
    return new CandidateIndex({
      candidates,
      weightOf: (account) => weights.get(account) ?? 1,
      seats,
      strategy: STRATEGIES[pool.strategy](),
      availabilityOf: (seat) => availabilityOf(seat, health, scope),
      look: (seat) => seat.look(quota, clock.now()),
    });
  }
}
