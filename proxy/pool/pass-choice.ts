// Picks the account for a pass-through row: no model is involved, so the least busy assignment of the Pool takes it.

import type { ChoosePass, PassChoice } from '../intake/forward.ts';
import type { LiveTurn } from '../live-turn.ts';
import type { Upstreams } from '../upstream/upstreams.ts';

/** @param routable health of the account as a whole (UA1) */
export function passChoice(upstreams: Upstreams, routable: (account: string) => boolean): ChoosePass {
  return (turn: LiveTurn, tried) => {
    let best: PassChoice | undefined;
    for (const { account: id, active, eligible } of turn.pool.assignments) {
      const account = turn.generation.accounts.get(id);
      const upstream = upstreams.of(id);
      if (!active || !eligible || !account?.visible || !upstream || tried.has(id) || !routable(id)) continue;
      if (!best || upstream.inFlight < best.upstream.inFlight) best = { account, upstream };
    }
    return best;
  };
}
