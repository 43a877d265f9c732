// THE LOOP: the attempts of one turn, one account after another, until its client has an answer (Q6).
import type { Why } from '../../store/schema/logged-rows.ts';
import type { AttemptResult } from '../accounts/health/account-health.ts';
import { demandOf } from '../accounts/selection/demand.ts';
import type { LackingAccounts } from '../accounts/selection/lacking-accounts.ts';
import type { AccountLease } from '../accounts/selection/lease.ts';
import type { Slot } from '../admission/admission.ts';
import type { LiveSocket } from '../sessions/continuity.ts';
import type { WebsocketHistories } from '../sessions/websocket-histories.ts';
import type { CiphertextOrigins } from '../turn/ciphertext-origins.ts';
import type { Continuation } from '../turn/continuation.ts';
import type { Failure } from '../turn/errors/failure.ts';
import { type ErrorCode, noEligibleAccount, Refusal, refusalOf } from '../turn/errors/refusal.ts';
import { clientGone } from '../turn/reply/turn-result.ts';
import { hasTiers, type OverflowReason } from '../turn/tiers.ts';
import type { Body } from '../turn/turn.ts';
import type { WebsocketSupport } from '../upstream/websocket-support.ts';
import type { Attempted } from './attempt.ts';
import type { AttemptCause, AttemptLog } from './attempt-log.ts';
import { AttemptSender, type SenderServices } from './attempt-sender.ts';
import { isPrewarmRefusal, prewarmed } from './prewarm.ts';
import { failureOf, resultOf } from './reply/reply-context.ts';
import type { DispatchEnd, Dispatched, DispatchRequest } from './request/dispatch-request.ts';
import type { NextStep } from './retries/next-step.ts';
import type { RetryBudgets } from './retries/retry-budget.ts';
import { repeatAt } from './retries/same-account.ts';
import { type Earlier, TurnProgress } from './retries/turn-progress.ts';
import { type TierServices, TurnTiers } from './tiers/turn-tiers.ts';
import { anchorNotFound, turnSocketOf } from './turn-socket.ts';
import { type UnansweredServices, unanswered, unchosen } from './unanswered.ts';

export interface TurnServices extends SenderServices, UnansweredServices {
  readonly websockets: WebsocketSupport;
  readonly histories: WebsocketHistories;
  readonly budgets: RetryBudgets;
  readonly lacking: LackingAccounts;
  readonly tiers: TierServices;
}

/** The codes with which selection refuses a turn because it found no account. */
const NO_ACCOUNT: ReadonlySet<string | null> = new Set<ErrorCode>([
  'usage_limit_reached',
  'no_eligible_account',
  'unsupported_parameter',
  'server_is_overloaded',
]);

export class TurnAttempts {
  readonly #services: TurnServices;
  readonly #request: DispatchRequest;
  readonly #slot: Slot;
  readonly #sender: AttemptSender;
  readonly #progress: TurnProgress;
  /** Why the account of the last attempt was chosen, and from which tier. */
  #why: Why | null = null;
  #tier: number | null = null;
  #overflow: OverflowReason | null = null;
  #goesOn = false;
  /** Undefined in a Pool with one tier. */
  #tiers: TurnTiers | undefined;

  /** @param earlier the attempts for earlier models of the chain */
  constructor(services: TurnServices, request: DispatchRequest, slot: Slot, earlier?: TurnAttempts) {
    this.#services = services;
    this.#request = request;
    this.#slot = slot;
    const { upstreamSocket } = request.client;
    const socket = upstreamSocket && turnSocketOf(request, upstreamSocket, services.websockets);
    this.#sender = new AttemptSender(services, request, socket, earlier?.log);
    this.#progress = new TurnProgress(request, this.#sender, socket, services.budgets.of(request.turn.pool.id), earlier?.sofar);
  }

  get log(): AttemptLog {
    return this.#sender.log;
  }

  /** What following models of the chain have to know. */
  get sofar(): Earlier {
    return this.#progress.sofar;
  }

  /** Whether no account could serve the model, and the turn may go to another one (AA75). */
  get goesOn(): boolean {
    return this.#goesOn;
  }

  /**
   * Never rejects. It is one function, because each further asynchronous function would cost every turn a promise and an iteration of the
   * microtask queue.
   */
  async run(): Promise<Dispatched> {
    const { turn, client } = this.#request;
    const progress = this.#progress;
    const { socket, failures } = progress;
    const live = client.upstreamSocket;
    let end: DispatchEnd | undefined;
    try {
      const resumed = await this.#services.continuity.resume(turn, progress.hasJson ? progress.body : undefined, live);
      const origins = this.#originsOf(progress);
      const continuation = preferLive(resumed, live);
      if (hasTiers(turn.pool)) {
        const body = progress.hasJson ? progress.body : undefined;
        const maker = body && turn.pool.overflow.reasoning === 'keep' ? this.#services.continuity.makerIn(body) : undefined;
        const tiered = { request: this.#request, continuation, body, maker: maker instanceof Promise ? await maker : maker };
        this.#tiers = new TurnTiers(tiered, this.#services.tiers);
      }
      this.#begin(continuation, origins instanceof Promise ? await origins : origins);
      let next: NextStep = 'choose';
      while (!end) {
        const lease: Exclude<NextStep, 'choose'> = await (next === 'choose' ? this.#choose() : next);
        if (lease === 'gone') end = this.#gone(false);
        else if (lease === 'end') {
          this.#goesOn = progress.goesOn(failures.at(-1) as Failure);
          end = unanswered(progress, this.#sender, this.#services);
        } else if ((lease.granted && !(await lease.granted)) || socket?.skips(lease.account)) {
          // Another node probes this account, or another turn has found during this wait that it has no websocket.
          lease.end('neutral');
          next = 'choose';
        } else if (this.#tiers && lease.tier > 0 && !(await this.#tiers.pays(lease))) {
          lease.end('neutral');
          next = 'choose';
        } else {
          progress.tried.add(lease.account.id);
          this.#why = next === 'choose' ? lease.why : { ...lease.why, reason: 'ciphertext' };
          this.#tier = lease.tier;
          this.#overflow = lease.overflow ?? null;
          if (lease.overflow) this.#services.tiers.used(turn.pool.id, lease.tier);
          let result: AttemptResult = 'neutral';
          let attempted: Attempted;
          try {
            attempted = await this.#attempt(lease, progress.resent ? 'resend' : (failures.at(-1)?.cause ?? 'first'));
            if (failureOf(attempted.verdict)) ({ attempted, result } = await this.#repeat(lease, attempted));
            else result = resultOf(attempted.verdict);
          } finally {
            lease.end(isForeignModel(result, turn) ? 'neutral' : result);
          }
          if (typeof result === 'object' && result.sign === 'wrong_api' && lease.hasWrongApi) this.#sender.log.classify('wrong_api');
          const { verdict, status } = attempted;
          if (verdict.kind === 'failed') this.#tiers?.release();
          if (verdict.kind === 'failed') next = await this.#next(verdict.failure, status, lease);
          else if (verdict.kind === 'gone') end = this.#gone(verdict.shown);
          else if (verdict.kind === 'done') {
            const stored = turn.pendingWrites?.whenStored(turn, this.#services.counters);
            if (stored) await stored;
            end = { kind: 'ended', ending: verdict.ending, close: verdict.close };
          } else end = { ...verdict, kind: 'refused' };
        }
      }
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      const answersItself = socket?.skipsAccounts && turn.hasApiAccounts && isPrewarmRefusal(thrown);
      end = answersItself ? prewarmed(turn, client, this.#services.histories) : { kind: 'refused', refusal: refusalOf(thrown) };
      this.#goesOn = failures.length === 0 && end.kind === 'refused' && NO_ACCOUNT.has(end.refusal.code) && progress.mayGoOn;
    }
    if (!this.#goesOn) this.#slot.release();
    const { log, account } = this.#sender;
    return {
      attempts: {
        rows: log.rows,
        wasSent: log.wasSent,
        account: account?.label ?? null,
        tier: this.#tier,
        overflow: this.#overflow,
        served: account,
        spending: this.#tiers?.spending,
        why: this.#why,
      },
      end,
    };
  }

  /** @throws Refusal if the response that the turn continues is gone, or its model has no routable source */
  #begin(continuation: Continuation, origins: CiphertextOrigins | undefined): void {
    const { turn, client } = this.#request;
    const { selection, counters } = this.#services;
    const progress = this.#progress;
    const onGone = (left: () => void): (() => void) => client.onGone(left);
    progress.continuation = continuation;
    progress.origins = origins;
    const fit = this.#services.lacking.of(turn, progress.hasJson ? progress.body : undefined, origins);
    progress.demand = demandOf({ turn, continuation, fit, tiers: this.#tiers?.demand, slot: this.#slot, onGone });
    for (const account of progress.demand.lacking.keys()) progress.tried.add(account);
    progress.budget.turn(turn.now());
    counters.add('turns');
    const isUnroutable = turn.model?.routable === false;
    const isLost = progress.socket ? progress.socket.anchorIsGone : isLostOverHttp(progress.body);
    if (!isUnroutable && !isLost) return;
    selection.candidates.requirePinned(progress.demand);
    throw isUnroutable ? noEligibleAccount(turn.recoversIn()) : anchorNotFound();
  }

  /** Undefined in a Pool whose accounts have one API, because each of them refuses ciphertext that it cannot read (Q10). */
  #originsOf({ turn, hasJson, body }: TurnProgress): CiphertextOrigins | undefined | Promise<CiphertextOrigins> {
    return hasJson && this.#services.lacking.isSelective(turn) ? this.#services.continuity.origins(turn, body) : undefined;
  }

  /** Returns `end` only after an attempt, whose failure the client then gets. @throws Refusal before the first attempt */
  #choose(): AccountLease | 'end' | Promise<AccountLease | 'gone' | 'end'> {
    const progress = this.#progress;
    progress.skipAccounts();
    try {
      const choosing = this.#services.selection.choose(progress.demand, progress.tried);
      if (!(choosing instanceof Promise)) return choosing;
      return choosing.then(
        (lease) => lease ?? 'gone',
        (thrown: unknown) => this.#notChosen(thrown),
      );
    } catch (thrown) {
      return this.#notChosen(thrown);
    }
  }

  #notChosen(thrown: unknown): 'end' {
    if (!(thrown instanceof Refusal)) throw thrown;
    this.#tiers?.refused();
    if (this.#progress.failures.length > 0) return 'end';
    throw unchosen(this.#progress, thrown, this.#services);
  }

  #attempt(lease: AccountLease, cause: AttemptCause): Promise<Attempted> {
    const { continuation, origins } = this.#progress;
    const body = origins?.foreignTo(lease.account)?.without(this.#progress.body) ?? this.#progress.body;
    const keepsBack = (failure: Failure): boolean => this.#services.steps.keepsBack(this.#progress, failure, lease.account.id);
    return this.#sender.send(lease, { cause, body, continuation, keepsBack });
  }

  #repeat(lease: AccountLease, failed: Attempted): ReturnType<typeof repeatAt> {
    const { account } = lease;
    const { credentials, compactPaths, providerOf } = this.#services;
    const { socket } = this.#progress;
    const resend = (): Promise<Attempted> => this.#attempt(lease, 'resend');
    return repeatAt(
      { account, provider: providerOf(account), credentials, socket, compactPaths, isSpent: () => this.#sender.isSpent, resend },
      failed,
    );
  }

  #next(failure: Failure, status: number | undefined, { account }: AccountLease): NextStep | Promise<NextStep> {
    const progress = this.#progress;
    // The account has just refused a websocket, without which it cannot serve the turn.
    if (progress.socket?.skips(account)) return 'choose';
    progress.failures.push(failure);
    if (failure.isUntranslated) {
      const { providerOf } = this.#services;
      progress.skipOthers((other) => providerOf(other) === providerOf(account));
    }
    return this.#services.steps.after(progress, failure, status, account.id);
  }

  #gone(shown: boolean): DispatchEnd {
    this.#services.counters.add('client_gone');
    return { kind: 'ended', ending: clientGone(shown) };
  }
}

/** Prefers the account of the live socket for a turn that continues nothing, as long as the account can take it. */
const preferLive = (continuation: Continuation, live: LiveSocket | undefined): Continuation =>
  live?.account === undefined || continuation.soft !== undefined ? continuation : { ...continuation, soft: live.account };

/**
 * Whether the response of a turn is lost over HTTP. Responses that are not stored exist only on one websocket, and providers refuse their
 * ids elsewhere (RB11).
 */
const isLostOverHttp = ({ previous_response_id, store }: Body): boolean => typeof previous_response_id === 'string' && store === false;

/**
 * Whether the account lacks a model that need not be in a catalog. It gets no cooldown, because a client could name an unknown model and so
 * cool down all accounts.
 */
const isForeignModel = (result: AttemptResult, { kind }: DispatchRequest['turn']): boolean =>
  typeof result === 'object' && result.cause === 'model' && !kind.model;
