// Decides what follows a failed attempt (Q6). A reply asks before its client gets the failure, and the loop of attempts asks afterwards.
import type { Lease } from '../../accounts/selection/lease.ts';
import type { Selection } from '../../accounts/selection/selection.ts';
import type { Counters } from '../../base/process/metrics.ts';
import { type Failure, type FailureCause, isRetryable } from '../../turn/errors/failure.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import type { CiphertextRecovery } from './ciphertext-recovery.ts';
import type { TurnProgress } from './turn-progress.ts';

/** A lease for the next attempt; `gone`: the client left; `choose`: any account that is left; `end`: the client gets an error. */
export type NextStep = Lease | 'gone' | 'choose' | 'end';

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
    return (
      this.#mayRetry(progress, failure, failure.status) ||
      this.#recovers(progress, failure, account) ||
      isReworded(progress, failure) ||
      this.endsConversation(progress, failure)
    );
  }

  /**
   * Whether the client has to send its conversation in full after this failure. A compaction that was sent reports its own failure (F3.5).
   */
  endsConversation(progress: TurnProgress, { cause }: Failure): boolean {
    return CANNOT_GO_ON.has(cause) && progress.turn.kind.frames !== 'anchored' && this.#isHeldByAnchor(progress);
  }

  /** The same where no account could be chosen: the account of the response refuses the turn, or the turn waited for it in vain. */
  refusesConversation(progress: TurnProgress, { code }: Refusal): boolean {
    const { demand, tried } = progress;
    if (code === 'server_is_overloaded')
      return this.#isHeldByAnchor(progress) && this.#services.selection.candidates.hasFreeElsewhere(demand, tried);
    return (code === 'usage_limit_reached' || code === 'no_eligible_account') && this.#isHeldByAnchor(progress);
  }

  /**
   * After the last attempt at an account.
   * @param status of the account's reply, where one came
   * @throws Refusal when the client has to restart its conversation
   */
  async after(progress: TurnProgress, failure: Failure, status: number | undefined, account: string): Promise<NextStep> {
    const { recovery, counters } = this.#services;
    const recovered = this.#recovers(progress, failure, account) ? await recovery.next(progress, failure, account) : undefined;
    const again =
      recovered !== undefined || this.#mayRetry(progress, failure, status) || (await this.#mayAfterRecheck(progress, failure, status));
    if (!again) return 'end';
    progress.budget.retry(progress.turn.now());
    counters.add('retries');
    return recovered ?? 'choose';
  }

  #mayRetry(progress: TurnProgress, failure: Failure, status: number | undefined): boolean {
    const { turn, demand, tried, budget } = progress;
    const { selection, counters } = this.#services;
    if (!isRetryable(failure) || progress.attempts >= turn.pool.max_attempts || progress.isSpent) return false;
    if (turn.kind.retry === 'before head' && status !== undefined && status < 300) return false;
    if (!selection.candidates.hasAny(demand, tried)) return false;
    if (budget.allows(turn.now())) return true;
    counters.add('retries_withheld');
    return false;
  }

  /** Whether the failure is about ciphertext, and is answered by another attempt or by the advice to restart. */
  #recovers(progress: TurnProgress, failure: Failure, account: string): boolean {
    return progress.hasJson && this.#services.recovery.helps(progress, failure, account);
  }

  /**
   * Whether only the response that the turn continues prevents another account. When that response is refused, the client resends the turn
   * in full without its user's help; any other refusal would end a session for which the Pool has an account (Q2, Q10).
   */
  #isHeldByAnchor({ turn, demand, tried, socket }: TurnProgress): boolean {
    if (!socket?.isAnchored || turn.fileOwner !== undefined) return false;
    return this.#services.selection.candidates.hasAny({ ...demand, hard: undefined }, tried);
  }

  /** Before a turn is refused for exhausted quota, the accounts that have only old evidence are asked for their usage again (Q8). */
  async #mayAfterRecheck(progress: TurnProgress, failure: Failure, status: number | undefined): Promise<boolean> {
    if (!isQuotaOfAll(progress, failure)) return false;
    const asking = this.#services.selection.recheck(progress.demand, progress.tried);
    if (!asking) return false;
    await asking;
    return this.#mayRetry(progress, failure, status);
  }
}

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
