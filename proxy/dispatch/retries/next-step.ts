// Decides what follows a failed attempt (Q6). A reply asks before its client gets the failure, and the loop of attempts asks again
// afterwards.
import type { AccountLease } from '../../accounts/selection/lease.ts';
import type { Selection } from '../../accounts/selection/selection.ts';
import type { Counters } from '../../base/process/metrics.ts';
import { type Failure, type FailureCause, isRetryable } from '../../turn/errors/failure.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import type { ProviderOf } from '../../turn/provider/provider-api.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { CiphertextRecovery } from './ciphertext-recovery.ts';
import type { FailureDecision, TurnProgress } from './turn-progress.ts';

/** A lease for the next attempt. `gone`: the client left. `choose`: any remaining account. `end`: the client gets an error. */
export type NextStep = AccountLease | 'gone' | 'choose' | 'end';

/** Failures after which the account cannot continue a conversation at the moment, while another one could. */
const CANNOT_GO_ON: ReadonlySet<FailureCause> = new Set(['quota', 'rate', 'model']);

export interface NextStepServices {
  readonly selection: Selection;
  readonly recovery: CiphertextRecovery;
  readonly counters: Counters;
  readonly providerOf: ProviderOf;
}

export class NextSteps {
  readonly #services: NextStepServices;

  constructor(services: NextStepServices) {
    this.#services = services;
  }

  /** Whether the failure is kept from the client, because the turn is tried again or gets an answer of the gateway. */
  keepsBack(progress: TurnProgress, failure: Failure, account: string): boolean {
    const { recovers, retry } = this.#decisionOf(progress, failure, account);
    const allowed = hasBegun(progress, failure.status) ? 'no' : retry;
    if (
      allowed === 'yes' ||
      recovers ||
      progress.goesOn(failure) ||
      progress.answersItself(failure) ||
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

  /**
   * Whether the client has to send its conversation in full if no account could be chosen, because the account of the response refuses the
   * turn, or had no free capacity until the end of the wait.
   */
  refusesConversation(progress: TurnProgress, { code }: Refusal): boolean {
    const { demandInFull, closedInFull } = progress;
    if (code === 'server_is_overloaded')
      return this.#isHeldByAnchor(progress) && this.#services.selection.candidates.hasFreeElsewhere(demandInFull, closedInFull);
    return (code === 'usage_limit_reached' || code === 'no_eligible_account') && this.#isHeldByAnchor(progress);
  }

  /**
   * The step after the last attempt at an account.
   * @param status the status of the account's reply, if one came
   * @throws Refusal if the client has to restart its conversation
   */
  async after(progress: TurnProgress, failure: Failure, status: number | undefined, account: AccountConfig): Promise<NextStep> {
    const { recovery, counters, providerOf } = this.#services;
    // The account has just refused a websocket, without which it cannot serve the turn.
    if (progress.socket?.skips(account)) return 'choose';
    progress.failures.push(failure);
    if (failure.isUntranslated) progress.skipOthers((other) => providerOf(other) === providerOf(account));
    const { recovers, retry } = this.#decisionOf(progress, failure, account.id);
    const recovered = recovers ? await recovery.next(progress, failure, account.id) : undefined;
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

  /** The decision about a failure. It is made once, so that a reply that asked before gets the decision that its turn then follows. */
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
    return progress.work !== undefined && this.#services.recovery.helps(progress, failure, account);
  }

  /**
   * Whether only the response that the turn continues prevents another account or the next model of a chain. If that response is refused,
   * the client resends the turn in full without its user's help. Any other refusal would end a session for which the Pool has an account
   * (Q2, Q10).
   */
  #isHeldByAnchor(progress: TurnProgress): boolean {
    const { turn, socket, request } = progress;
    if (!socket?.isAnchored || turn.fileOwner !== undefined) return false;
    return request.chain?.hasNext === true || this.#services.selection.candidates.hasAny(progress.demandInFull, progress.closedInFull);
  }

  /** Reads the usage of accounts again whose quota is only known from old evidence, before a turn is refused for exhausted quota (Q8). */
  async #hasRechecked(progress: TurnProgress, failure: Failure): Promise<boolean> {
    const asking = isQuotaOfAll(progress, failure) ? this.#services.selection.recheck(progress.demand, progress.tried) : undefined;
    await asking;
    return asking !== undefined;
  }
}

/** Whether the reply had a successful head, and the turn is of a kind that is then not retried. @param status the status of the reply */
const hasBegun = ({ turn }: TurnProgress, status: number | undefined): boolean =>
  turn.kind.retry === 'before head' && status !== undefined && status < 300;

/** Whether the answer depends on the quota of all accounts. With a hard pin it depends on one. */
export const isQuotaOfAll = ({ demand }: Pick<TurnProgress, 'demand'>, { cause }: Failure): boolean =>
  cause === 'quota' && demand.hard === undefined;

/**
 * Whether the client gets another error. Failures of the credential or the socket, and the page of a network's guard, are never relayed. An
 * exhausted quota is stated with the soonest reset of all accounts (Q3), in a separate answer if nothing was shown, because native clients
 * do not read it inside a stream (RB22).
 */
const isReworded = (progress: TurnProgress, failure: Failure): boolean =>
  failure.cause === 'credential' ||
  failure.cause === 'challenge_page' ||
  progress.socket?.isAtFault(failure) === true ||
  (!beginsWithRefusal(progress) && isQuotaOfAll(progress, failure));

/** Whether the client gets a refusal as the first event of its stream (F1.8, Q17), and not as an answer or frame with a status. */
const beginsWithRefusal = ({ turn: { client, surface }, request }: TurnProgress): boolean =>
  client === 'http' && request.client.streams && surface.refusalEvent !== undefined && surface.refusesByStatus !== true;
