// The facts of one turn from which it is explained: configuration, mode, and what only the running gateway knows.

import type { Config } from '../../config/config.ts';
import type { JsonObject } from '../../turn/json.ts';
import type { TurnFacts } from '../../turn/rule.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import type { ModeDecision } from '../../turn/turn.ts';

export interface Facts extends TurnFacts {
  readonly config: Config;
  /** Undefined without the running gateway, or without a model. */
  readonly live: LiveModel | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

/** The running gateway's catalogs and account health, without a request to any account. */
export interface LiveModels {
  model(pool: PoolConfig, id: string): LiveModel;
}

export interface LiveModel {
  /** In the whole Pool: `routable`, `unroutable`, `invisible`, `suppressed`, `absent`. */
  readonly presence: string;
  readonly mode: ModeDecision | undefined;
  /** The entry of the canonical cohort; undefined for a model that is absent. */
  readonly entry: JsonObject | undefined;
  readonly sources: readonly LiveSource[];
}

/** An account of the Pool that lists the model. */
export interface LiveSource {
  readonly account: string;
  /** In the canonical cohort; outside it with a window of at least the same size; or with a smaller one, for pinned turns only (Q12). */
  readonly place: 'cohort' | 'overflow' | 'smaller';
  readonly routable: boolean;
  /** Whether its own entry says a literal `true`. */
  readonly lite: boolean;
  /** The context window that its entry states, in tokens. */
  readonly window: number | undefined;
  /** `available`, `cooldown`, `probing`, `quota`, `reauth_required`. */
  readonly health: string;
  /** End of a cooldown, Unix milliseconds. */
  readonly until: number | undefined;
  /** Attempts in flight. */
  readonly inFlight: number;
}
