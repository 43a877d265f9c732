// Recovers a turn whose ciphertext an account refused: chooses the account of the next attempt, and the part of the body that it gets
// (Q10).
import type { AccountLease } from '../../accounts/selection/lease.ts';
import type { Selection } from '../../accounts/selection/selection.ts';
import type { Recovery } from '../../sessions/ciphertext-refusal.ts';
import type { Continuity } from '../../sessions/continuity.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import { Refusal } from '../../turn/errors/refusal.ts';
import type { TurnProgress } from './turn-progress.ts';

const NONE: ReadonlySet<string> = new Set();

export class CiphertextRecovery {
  readonly #continuity: Continuity;
  readonly #selection: Selection;

  constructor(continuity: Continuity, selection: Selection) {
    this.#continuity = continuity;
    this.#selection = selection;
  }

  /** Whether this failure leads to another attempt, or to the advice to restart. */
  helps(progress: TurnProgress, failure: Failure, account: string): boolean {
    if (!this.#continuity.blamesCiphertext(failure.error.code)) return false;
    return this.#recovery(progress, failure, account).kind !== 'none';
  }

  /**
   * Call it if `helps` is true. Returns the lease of the next attempt; `gone` if the client left; undefined if the account's refusal is
   * final.
   * @throws Refusal if the client has to restart its conversation
   */
  async next(progress: TurnProgress, failure: Failure, account: string): Promise<AccountLease | 'gone' | undefined> {
    await this.#continuity.lookUpMakers(progress.sentBody, failure.error.param);
    for (;;) {
      const recovery = this.#recovery(progress, failure, account);
      if (recovery.kind === 'none') return undefined;
      if (recovery.kind === 'restart') throw recovery.refusal;
      if (recovery.kind === 'move') {
        const lease = await this.#leaseAt(recovery.account, progress);
        if (lease) return lease;
        progress.exhaustedMakers = new Set([...progress.exhaustedMakers, recovery.account]);
        continue;
      }
      progress.resent = true;
      progress.body = recovery.body;
      return this.#leaseAt(account, progress);
    }
  }

  #recovery(progress: TurnProgress, failure: Failure, account: string): Recovery {
    const { turn, continuation, demand, tried, sentBody, resent, exhaustedMakers } = progress;
    // A compaction that the account has begun may be complete and billed.
    if (turn.kind.retry === 'before head' && failure.status === 200) return { kind: 'none' };
    const pinned = demand.hard !== undefined || progress.isOutOfAttempts;
    const refused = {
      body: sentBody,
      param: failure.error.param,
      account,
      closed: (id: string): boolean => pinned || tried.has(id) || exhaustedMakers.has(id),
      resent,
      session: demand.soft,
      agent: turn.wire.agent,
    };
    return this.#continuity.recovery(refused, continuation);
  }

  /** A lease at exactly this account, or undefined. */
  async #leaseAt(account: string, { demand }: TurnProgress): Promise<AccountLease | 'gone' | undefined> {
    try {
      const lease = await this.#selection.choose({ ...demand, hard: account }, NONE);
      return lease ?? 'gone';
    } catch (thrown) {
      if (thrown instanceof Refusal) return undefined;
      throw thrown;
    }
  }
}
