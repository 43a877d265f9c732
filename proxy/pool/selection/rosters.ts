// A roster for each Pool and model that turns ask for, made at first need, and anew where the catalog says something else.
import type { PoolConfig } from '../../config/config.ts';
import type { Clock } from '../catalog/clock.ts';
import type { Health } from '../health/health.ts';
import type { QuotaView } from './quota-view.ts';
import { Roster } from './roster.ts';
import type { Seats } from './seats.ts';
import type { Sources } from './sources.ts';
import { standingOf } from './standing.ts';
import { STRATEGIES } from './strategy.ts';

export interface RostersOptions {
  readonly clock: Clock;
  readonly sources: Sources;
  readonly health: Health;
  readonly quota: QuotaView;
  readonly seats: Seats;
}

export class Rosters {
  readonly #options: RostersOptions;
  /** By the configuration's own object: the rosters of an old one go with the last turn that holds it. */
  #byPool = new WeakMap<PoolConfig, Map<string, Roster>>();

  constructor(options: RostersOptions) {
    this.#options = options;
  }

  /** Up to date. @param scope the exposed model id, or a route's own word */
  of(pool: PoolConfig, scope: string): Roster {
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

  #made(pool: PoolConfig, scope: string, candidates: Roster['candidates']): Roster {
    const { health, quota, clock, seats } = this.#options;
    const weights = new Map(pool.assignments.map(({ account, weight }) => [account, weight]));
    return new Roster({
      candidates,
      weightOf: (account) => weights.get(account) ?? 1,
      seats,
      strategy: STRATEGIES[pool.strategy](),
      standingOf: (seat) => standingOf(seat, health, scope),
      look: (seat) => seat.look(quota, clock.now()),
    });
  }
}
