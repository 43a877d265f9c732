// Picks the account for an attempt: the least busy one among those that may serve the turn.
import type { AccountConfig } from '../config/config.ts';
import type { LiveTurn } from '../live-turn.ts';
import type { Upstream, Upstreams } from '../upstream/upstreams.ts';
import type { Candidates } from './catalog/pool-model.ts';

export interface Choice {
  readonly account: AccountConfig;
  readonly upstream: Upstream;
}

export class Selection {
  readonly #upstreams: Upstreams;
  readonly #candidates: (turn: LiveTurn) => Candidates;

  constructor(upstreams: Upstreams, candidates: (turn: LiveTurn) => Candidates) {
    this.#upstreams = upstreams;
    this.#candidates = candidates;
  }

  /** An account that was not tried in this turn, or undefined. The cohort comes first, then wider windows (Q12). */
  choose(turn: LiveTurn, tried: ReadonlySet<string>): Choice | undefined {
    const { preferred, overflow } = this.#candidates(turn);
    return this.#leastBusy(turn, preferred, tried) ?? this.#leastBusy(turn, overflow, tried);
  }

  #leastBusy(turn: LiveTurn, ids: readonly string[], tried: ReadonlySet<string>): Choice | undefined {
    let best: Choice | undefined;
    for (const id of ids) {
      const account = turn.generation.accounts.get(id);
      const upstream = this.#upstreams.of(id);
      if (!account || !upstream || tried.has(id) || upstream.inFlight >= account.max_concurrent) continue;
      if (!best || upstream.inFlight < best.upstream.inFlight) best = { account, upstream };
    }
    return best;
  }
}
