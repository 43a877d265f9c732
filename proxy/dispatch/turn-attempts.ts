// THE LOOP: the attempts of one turn, one account after another, until its client has an answer (Q6).
import type { Why } from '../../store/schema/logged-rows.ts';
import type { AttemptResult } from '../accounts/health/attempt-result.ts';
import { scopeOf } from '../accounts/scope.ts';
import type { AccountLease } from '../accounts/selection/lease.ts';
import type { Slot } from '../admission/admission.ts';
import type { LiveSocket } from '../sessions/continuity.ts';
import type { CiphertextOrigins } from '../turn/ciphertext-origins.ts';
import type { Continuation } from '../turn/continuation.ts';
import type { Failure } from '../turn/errors/failure.ts';
import { type ErrorCode, noEligibleAccount, Refusal, refusalOf } from '../turn/errors/refusal.ts';
import { type Attempts, clientGone } from '../turn/reply/turn-result.ts';
import { hasTiers } from '../turn/tiers.ts';
import type { Body } from '../turn/turn.ts';
import { resultOf } from './attempt.ts';
import type { DispatchServices } from './dispatch-services.ts';
import { attemptAt } from './leased-attempt.ts';
import { prewarmed } from './prewarm.ts';
import type { Attempted } from './reply/reply-context.ts';
import type { DispatchEnd, Dispatched, DispatchRequest } from './request/dispatch-request.ts';
import type { NextStep } from './retries/next-step.ts';
import { repeatAt } from './retries/same-account.ts';
import { TurnProgress } from './retries/turn-progress.ts';
import { endOfWait } from './stopped-turn.ts';
import { TurnTiers } from './tiers/turn-tiers.ts';
import { anchorNotFound, turnSocketOf } from './turn-socket.ts';
import { unanswered, unchosen } from './unanswered.ts';

/** The codes with which selection refuses a turn because it found no account. */
const NO_ACCOUNT: ReadonlySet<string | null> = new Set<ErrorCode>([
  'usage_limit_reached',
  'no_eligible_account',
  'unsupported_parameter',
  'server_is_overloaded',
]);

export class TurnAttempts {
  readonly progress: TurnProgress;
  readonly #services: DispatchServices;
  readonly #request: DispatchRequest;
  readonly #slot: Slot;
  /** The account of the last attempt, and why it was chosen. */
  #lease: AccountLease | undefined;
  #why: Why | null = null;
  #goesOn = false;
  /** Undefined in a Pool with one tier. */
  #tiers: TurnTiers | undefined;

  /** @param earlier the attempts for earlier models of the chain */
  constructor(services: DispatchServices, request: DispatchRequest, slot: Slot, earlier?: TurnAttempts) {
    this.#services = services;
    this.#request = request;
    this.#slot = slot;
    const { upstreamSocket } = request.client;
    const socket = upstreamSocket && turnSocketOf(request, upstreamSocket, services.websockets);
    this.progress = new TurnProgress(request, services, socket, earlier?.progress);
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
    const { progress } = this;
    const { socket, failures } = progress;
    const live = client.upstreamSocket;
    let end: DispatchEnd | undefined;
    try {
      const body = progress.work && progress.body;
      progress.continuation = preferLive(await this.#services.continuity.resume(turn, body, live), live);
      const origins = this.#originsOf(body);
      if (hasTiers(turn.pool)) this.#tiers = await this.#tiersOf(body);
      progress.origins = origins instanceof Promise ? await origins : origins;
      this.#begin(body);
      let next: NextStep = 'choose';
      while (!end) {
        const lease: Exclude<NextStep, 'choose'> = await (next === 'choose' ? this.#choose() : next);
        if (lease === 'gone') end = endOfWait(turn, client, this.#services.counters);
        else if (lease === 'end') {
          const last = failures.at(-1) as Failure;
          this.#goesOn = progress.goesOn(last);
          end = progress.answersItself(last) ? prewarmed(turn, client, this.#services.histories) : unanswered(progress, this.#services);
        } else if ((lease.granted && !(await lease.granted)) || socket?.skips(lease.account)) {
          // Another node probes this account, or another turn has found during this wait that it has no websocket.
          lease.end('neutral');
          next = 'choose';
        } else if (this.#tiers && lease.tier > 0 && !(await this.#tiers.pays(lease))) {
          lease.end('neutral');
          next = 'choose';
        } else {
          this.#takes(lease, next === 'choose');
          let result: AttemptResult = 'neutral';
          let attempted: Attempted;
          try {
            const cause = progress.resent ? 'resend' : (failures.at(-1)?.cause ?? 'first');
            attempted = await attemptAt(lease, cause, progress, this.#services);
            if (attempted.verdict.failure) ({ attempted, result } = await repeatAt(lease, attempted, progress, this.#services));
            else result = resultOf(attempted.verdict);
          } finally {
            lease.end(isForeignModel(result, turn) ? 'neutral' : result);
          }
          if (typeof result === 'object' && result.sign === 'wrong_api' && lease.hasWrongApi) progress.classify('wrong_api');
          const { verdict, status } = attempted;
          if (verdict.kind === 'failed') {
            this.#tiers?.release();
            next = await this.#services.steps.after(progress, verdict.failure, status, lease.account);
          } else if (verdict.kind === 'gone') end = this.#gone(verdict);
          else if (verdict.kind === 'done' || verdict.kind === 'stopped') {
            const stored = turn.pendingWrites?.whenStored(turn, this.#services.counters);
            if (stored) await stored;
            end = { kind: 'ended', ending: verdict.ending, close: verdict.close };
          } else end = { ...verdict, kind: 'refused' };
        }
      }
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      const answersItself = thrown instanceof Refusal && progress.answersInsteadOf(thrown);
      end = answersItself ? prewarmed(turn, client, this.#services.histories) : { kind: 'refused', refusal: refusalOf(thrown) };
      this.#goesOn = failures.length === 0 && end.kind === 'refused' && NO_ACCOUNT.has(end.refusal.code) && progress.mayGoOn;
    }
    if (!this.#goesOn) this.#slot.release();
    return { attempts: this.#made(), end };
  }

  /** What accounts have done for the turn. */
  #made(): Attempts {
    const { rows, wasSent, account } = this.progress;
    const { tier = null, overflow = null } = this.#lease ?? {};
    const spending = this.#tiers?.spending;
    return { rows, wasSent, account: account?.label ?? null, tier, overflow, served: account, spending, why: this.#why };
  }

  /** @throws Refusal if the response that the turn continues is gone, or its model has no routable source */
  #begin(body: Body | undefined): void {
    const { turn, client } = this.#request;
    const { counters, lacking, selection } = this.#services;
    const { progress } = this;
    const { continuation, origins, socket } = progress;
    const { hard, soft, affinity } = continuation;
    const fit = lacking.of(turn, body, origins);
    progress.demand = {
      turn,
      scope: scopeOf(turn),
      lacking: fit.lacking,
      lossy: fit.lossy,
      tiers: this.#tiers?.demand,
      hard,
      soft: hard === undefined ? soft : undefined,
      affinity,
      onGone: (left) => client.onGone(left),
      deadline: this.#slot.deadline,
    };
    for (const account of progress.demand.lacking.keys()) progress.tried.add(account);
    progress.budget.turn(turn.now());
    counters.add('turns');
    const isUnroutable = turn.model?.routable === false;
    const isLost = socket ? socket.anchorIsGone : isLostOverHttp(progress.body);
    if (!isUnroutable && !isLost) return;
    selection.candidates.requirePinned(progress.demand);
    throw isUnroutable ? noEligibleAccount(turn.recoversIn()) : anchorNotFound();
  }

  /** Undefined in a Pool whose accounts have one API, because each of them refuses ciphertext that it cannot read (Q10). */
  #originsOf(body: Body | undefined): CiphertextOrigins | undefined | Promise<CiphertextOrigins> {
    const { turn } = this.#request;
    return body && this.#services.lacking.isSelective(turn) ? this.#services.continuity.origins(turn, body) : undefined;
  }

  async #tiersOf(body: Body | undefined): Promise<TurnTiers> {
    const { continuity, tiers } = this.#services;
    const maker = body && this.#request.turn.pool.overflow.reasoning === 'keep' ? await continuity.makerIn(body) : undefined;
    return new TurnTiers({ request: this.#request, continuation: this.progress.continuation, body, maker }, tiers);
  }

  /** Returns `end` only after an attempt, whose failure the client then gets. @throws Refusal before the first attempt */
  #choose(): AccountLease | 'end' | Promise<AccountLease | 'gone' | 'end'> {
    const { progress } = this;
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
    if (this.progress.failures.length > 0) return 'end';
    throw unchosen(this.progress, thrown, this.#services);
  }

  /** @param isChosen whether selection chose the account; otherwise it made the ciphertext of the turn */
  #takes(lease: AccountLease, isChosen: boolean): void {
    this.progress.tried.add(lease.account.id);
    this.#lease = lease;
    this.#why = isChosen ? lease.why : { ...lease.why, reason: 'ciphertext' };
    if (lease.overflow) this.#services.tiers.used(this.#request.turn.pool.id, lease.tier);
  }

  #gone({ shown }: { readonly shown: boolean }): DispatchEnd {
    this.#services.counters.add('client_gone');
    return { kind: 'ended', ending: clientGone({ shown }) };
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
