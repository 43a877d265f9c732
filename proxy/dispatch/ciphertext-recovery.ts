// A turn whose ciphertext an account refused: at which account it goes on, and with what of its body (Q10).

import type { Demand } from '../accounts/selection/demand.ts';
import type { Lease } from '../accounts/selection/lease.ts';
import type { Selection } from '../accounts/selection/selection.ts';
import type { Recovery } from '../sessions/ciphertext-moves.ts';
import type { Continuity } from '../sessions/continuity.ts';
import type { Failure } from '../turn/failure.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { Refusal } from '../turn/refusal.ts';
import type { Work } from '../turn/turn.ts';

/** The part of a running turn that recovery looks at, and changes. */
export interface Recoverable {
  readonly turn: LiveTurn;
  readonly demand: Demand;
  readonly tried: ReadonlySet<string>;
  /** What attempts begin with from now on. */
  work: Work;
  /** What the last attempt was sent of it. */
  sent: Work;
  /** It goes without its reasoning already: that is done once. */
  resent: boolean;
  /** Makers of its ciphertext that could not take it. */
  readonly closed: Set<string>;
}

const NOWHERE: ReadonlySet<string> = new Set();

export class Recovering {
  readonly #continuity: Continuity;
  readonly #selection: Selection;

  constructor(continuity: Continuity, selection: Selection) {
    this.#continuity = continuity;
    this.#selection = selection;
  }

  /** Whether anything can be done about this failure, if only to tell the client how to start anew. */
  helps(running: Recoverable, failure: Failure, account: string): boolean {
    if (!this.#continuity.blamesCiphertext(failure.error.code)) return false;
    return this.#recovery(running, failure, account).kind !== 'tell';
  }

  /**
   * The lease that the turn goes on with. Undefined: what the provider said stands.
   * @throws Refusal when only a new start helps
   */
  async next(running: Recoverable, failure: Failure, account: string): Promise<Lease | 'gone' | undefined> {
    if (!this.helps(running, failure, account)) return undefined;
    for (;;) {
      const recovery = this.#recovery(running, failure, account);
      if (recovery.kind === 'tell') return undefined;
      if (recovery.kind === 'restart') throw recovery.refusal;
      if (recovery.kind === 'move') {
        const lease = await this.#leaseAt(recovery.account, running);
        if (lease) return lease;
        running.closed.add(recovery.account);
        continue;
      }
      running.resent = true;
      running.work = { body: recovery.body };
      return this.#leaseAt(account, running);
    }
  }

  #recovery({ turn, demand, tried, sent, resent, closed }: Recoverable, failure: Failure, account: string): Recovery {
    // What a provider has begun to compact may be done, and paid for.
    if (turn.route.kind === 'compact' && failure.status === 200) return { kind: 'tell' };
    const stays = demand.hard !== undefined || tried.size >= turn.pool.max_attempts;
    const refused = {
      body: sent.body,
      param: failure.error.param,
      account,
      closed: (id: string): boolean => stays || tried.has(id) || closed.has(id),
      resent,
      session: demand.soft,
      agent: turn.wire.agent,
    };
    return this.#continuity.recovery(refused, turn);
  }

  /** At this very account, or undefined. */
  async #leaseAt(account: string, { turn, demand }: Recoverable): Promise<Lease | 'gone' | undefined> {
    try {
      const lease = await this.#selection.choose({ ...demand, hard: account }, NOWHERE);
      if (lease && turn.why) turn.why = { ...turn.why, reason: 'ciphertext' };
      return lease ?? 'gone';
    } catch (thrown) {
      if (thrown instanceof Refusal) return undefined;
      throw thrown;
    }
  }
}
