// The one shape of a strategy: a number for every account that could take a turn; the highest one gets it (Q7).
import type { Strategy as StrategyName } from '../../turn/settings.ts';
import type { AccountLoad } from './account-load.ts';
import { fillFirst } from './strategies/fill-first.ts';
import { headroom } from './strategies/headroom.ts';
import { leastLoaded } from './strategies/least-loaded.ts';
import { rotation } from './strategies/rotation.ts';
import { soonestReset } from './strategies/soonest-reset.ts';

/** An account's part in one Pool, for one model. */
export interface Place {
  readonly seat: AccountLoad;
  /** In configuration order, the canonical cohort before its overflow. */
  readonly index: number;
  /** Of the assignment; 1 unless told. */
  readonly weight: number;
}

/** Asked only of places that can take a turn; asked again when something of the place changed, and at least once a second. */
export interface Strategy {
  /** Finite; among equal ones a rendezvous hash decides. */
  score(place: Place): number;
  /** Its own choice: a turn goes there for nothing but its score. */
  chosen?(place: Place): void;
}

/** Made anew for each Pool and model: a strategy may remember. */
export const STRATEGIES: Readonly<Record<StrategyName, () => Strategy>> = {
  headroom,
  least_loaded: leastLoaded,
  rotation,
  fill_first: fillFirst,
  soonest_reset: soonestReset,
};
