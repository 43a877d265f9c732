// What only the running gateway knows of a model: its catalogs, the health of its sources, and what is in flight.

import type { JsonObject } from '../../turn/json.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import type { ModeDecision } from '../../turn/turn.ts';

/** An account of the Pool that lists the model. */
export interface LiveSource {
  readonly account: string;
  /** In the canonical cohort; outside it with a window no smaller; or with a smaller one, where only a pin leads to it (Q12). */
  readonly place: 'cohort' | 'overflow' | 'smaller';
  readonly routable: boolean;
  /** Its own entry says a literal `true`. */
  readonly lite: boolean;
  /** The raw window that its entry states, in tokens. */
  readonly window: number | undefined;
  /** The words of account health: `open`, `cooldown`, …. */
  readonly standing: string;
  /** Unix milliseconds, of a cooldown. */
  readonly until: number | undefined;
  readonly inFlight: number;
}

export interface LiveModel {
  /** Of the whole Pool: `routable`, `unroutable`, `invisible`, `suppressed`, `absent`. */
  readonly presence: string;
  readonly mode: ModeDecision | undefined;
  /** The canonical cohort's entry; undefined for a model that is not there. */
  readonly entry: JsonObject | undefined;
  readonly sources: readonly LiveSource[];
}

export interface Live {
  model(pool: PoolConfig, id: string): LiveModel;
}
