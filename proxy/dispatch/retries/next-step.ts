// Decides what follows a failed attempt (Q6). A reply asks before its client gets the failure, and the loop of attempts asks afterwards.
import type { AccountLease } from '../../accounts/selection/lease.ts';
import type { Selection } from '../../accounts/selection/selection.ts';
import type { Counters } from '../../base/process/metrics.ts';
import { type Failure, type FailureCause, isRetryable } from '../../turn/errors/failure.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import type { CiphertextRecovery } from './ciphertext-recovery.ts';
import type { FailureDecision, TurnProgress } from './turn-progress.ts';

/** A lease for the next attempt; `gone`: the client left; `choose`: any account that is left; `end`: the client gets an error. */
export type NextStep = AccountLease | 'gone' | 'choose' | 'end';

/** Failures after which the account cannot continue a conversation for now, and another one could. */
const CANNOT_GO_ON: ReadonlySet<FailureCause> = new Set(['quota', 'rate', 'model']);

export interface NextStepServices {
  readonly selection: Selection;
  readonly recovery: CiphertextRecovery;
  readonly counters: Counters;
}

export class NextSteps {
  readonly #services: NextStepServices;

  constructor(services: NextStepServices) {
    this.#services = services;
  }

  /** Whether the client does not get this failure as its answer: the turn is tried again, or gets an answer of the gateway's own. */
  keepsBack(progress: TurnProgress, failure: Failure, account: string): boolean {
    const { recovers, retry } = this.#decisionOf(progress, failure, account);
    const allowed = hasBegun(progress, failure.status) ? 'no' : retry;
    if (
      allowed === 'yes' ||
      recovers ||
      progress.goesOn(failure) ||
      isReworded(progress, failure) ||
      this.endsConversation(progress, failure)
    )
      return true;
    if (allowed === 'withheld') this.#services.counters.add('retries_withheld');
    return false;
  }

  /**
   * Whether the client has to send its conversation in full after this failure. A compaction that was sent reports its own failure (F3.5).
   */
  endsConversation(progress: TurnProgress, { cause }: Failure): boolean {
    return CANNOT_GO_ON.has(cause) && progress.turn.kind.frames !== 'anchored' && this.#isHeldByAnchor(progress);
  }

  /** Whether the client has to send its conversation in full where no account could be chosen: the account of the response refuses the turn, or the turn waited for it in vain. */
  refusesConversation(progress: TurnProgress, { code }: Refusal): boolean {
    const { demand, closedInFull } = progress;
    if (code === 'server_is_overloaded')
      return this.#isHeldByAnchor(progress) && this.#services.selection.candidates.hasFreeElsewhere(demand, closedInFull);
    return (code === 'usage_limit_reached' || code === 'no_eligible_account') && this.#isHeldByAnchor(progress);
  }

  /**
   * After the last attempt at an account.
   * @param status of the account's reply, where one came
   * @throws Refusal when the client has to restart its conversation
   */
  async after(progress: TurnProgress, failure: Failure, status: number | undefined, account: string): Promise<NextStep> {
    const { recovery, counters } = this.#services;
    const { recovers, retry } = this.#decisionOf(progress, failure, account);
    const recovered = recovers ? await recovery.next(progress, failure, account) : undefined;
    if (recovered === undefined) {
      const begun = hasBegun(progress, status);
      let allowed = begun ? 'no' : retry;
      if (allowed !== 'yes' && (await this.#hasRechecked(progress, failure)) && !begun) allowed = this.#retryOf(progress, failure);
      if (allowed === 'withheld') counters.add('retries_withheld');
      if (allowed !== 'yes') return 'end';
    }
    progress.budget.retry(progress.turn.now());
    counters.add('retries');
    return recovered ?? 'choose';
  }

  /** Decided once for each failure: a reply that asked before has the answer that its turn then follows. */
  #decisionOf(progress: TurnProgress, failure: Failure, account: string): FailureDecision {
    if (progress.decision?.failure !== failure) {
      progress.demand.tiers?.failed(account, failure.cause);
      progress.decision = { failure, recovers: this.#recovers(progress, failure, account), retry: this.#retryOf(progress, failure) };
    }
    return progress.decision;
  }

  #retryOf(progress: TurnProgress, failure: Failure): FailureDecision['retry'] {
    const { turn, demand, tried, budget } = progress;
    if (!isRetryable(failure) || progress.isOutOfAttempts || progress.isSpent) return 'no';
    if (!this.#services.selection.candidates.hasAny(demand, tried)) return 'no';
    return budget.allows(turn.now()) ? 'yes' : 'withheld';
  }

  #recovers(progress: TurnProgress, failure: Failure, account: string): boolean {
    return progress.hasJson && this.#services.recovery.helps(progress, failure, account);
  }

  /**
   * Whether only the response that the turn continues prevents another account. When that response is refused, the client resends the turn
   * in full without its user's help; any other refusal would end a session for which the Pool has an account (Q2, Q10).
   */
  #isHeldByAnchor({ turn, demand, closedInFull, socket }: TurnProgress): boolean {
    if (!socket?.isAnchored || turn.fileOwner !== undefined) return false;
    return this.#services.selection.candidates.hasAny({ ...demand, hard: undefined }, closedInFull);
  }

  /** Before a turn is refused for exhausted quota, the accounts that have only old evidence are asked for their usage again (Q8). */
  async #hasRechecked(progress: TurnProgress, failure: Failure): Promise<boolean> {
    const asking = isQuotaOfAll(progress, failure) ? this.#services.selection.recheck(progress.demand, progress.tried) : undefined;
    await asking;
    return asking !== undefined;
  }
}

/** Whether the turn is of a kind that is not tried again after the head of a successful reply. @param status of the reply */
const hasBegun = ({ turn }: TurnProgress, status: number | undefined): boolean =>
  turn.kind.retry === 'before head' && status !== undefined && status < 300;

/** Whether the answer depends on all accounts: with a hard pin it depends on one. */
export const isQuotaOfAll = ({ demand }: Pick<TurnProgress, 'demand'>, { cause }: Failure): boolean =>
  cause === 'quota' && demand.hard === undefined;

/**
 * No client gets a failure of the credential or of the socket, or the page of a network's guard. An exhausted quota is stated with the soonest reset of all accounts (Q3), in
 * an answer of its own where nothing was shown: inside a stream native clients do not read it (RB22). Streams of the compatible surface
 * begin with it.
 */
const isReworded = (progress: TurnProgress, failure: Failure): boolean =>
  failure.cause === 'credential' ||
  failure.cause === 'challenge_page' ||
  progress.socket?.isAtFault(failure) === true ||
  ((progress.turn.client === 'websocket' || progress.turn.surface.refusalEvent === undefined) && isQuotaOfAll(progress, failure));
