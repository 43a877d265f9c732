// THE LOOP: the attempts of one turn, one account after another. The only place that decides what is tried again (Q6).

import type { Why } from '../../store/rows.ts';
import type { AttemptResult } from '../accounts/health/account-health.ts';
import type { Demand } from '../accounts/selection/demand.ts';
import type { Lease } from '../accounts/selection/lease.ts';
import type { Selection } from '../accounts/selection/selection.ts';
import type { Slot } from '../admission/admission.ts';
import type { Counters } from '../metrics.ts';
import type { Continuity } from '../sessions/continuity.ts';
import type { Continuation } from '../turn/continuation.ts';
import { noteErrorClass } from '../turn/error-class.ts';
import { type Failure, isRetryable, unsentFailure } from '../turn/failure.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { promptOf } from '../turn/prompt.ts';
import { Refusal, refusalOf } from '../turn/refusal.ts';
import { type Confidential, safeParam } from '../turn/sanitise.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { Body, Outgoing } from '../turn/turn.ts';
import { clientGone } from '../turn/turn-result.ts';
import { type AccountCredentials, type AccountHeaders, asUnavailable, CredentialUnavailable } from '../upstream/account-credentials.ts';
import type { CarrierRequest } from '../upstream/carrier.ts';
import type { SocketSlot } from '../upstream/socket-slot.ts';
import type { WebsocketSupport } from '../upstream/websocket-support.ts';
import { type Attempted, type AttemptOptions, attempt } from './attempt.ts';
import { type AttemptCause, AttemptLog } from './attempt-log.ts';
import type { CiphertextRecovery, Recoverable } from './ciphertext-recovery.ts';
import type { Upload } from './client.ts';
import { clientError } from './client-error.ts';
import { composeFrame, composeJson, composeStream } from './compose.ts';
import { isCredentialRefused, renewCredential, resultOf } from './credential-renewal.ts';
import type { DispatchEnd, Dispatched, DispatchRequest } from './dispatch-request.ts';
import type { FollowUps } from './follow-up.ts';
import { failureOf } from './reply-context.ts';
import type { ReplyObservers } from './reply-observers.ts';
import type { RetryBudget } from './retry-budget.ts';
import { anchorNotFound, type TurnSocket, turnSocketOf } from './turn-socket.ts';

export interface TurnServices {
  readonly selection: Selection;
  readonly credentials: AccountCredentials;
  readonly continuity: Continuity;
  readonly observers: ReplyObservers;
  readonly counters: Counters;
  readonly websockets: WebsocketSupport;
  /** By kind. */
  readonly followUps: FollowUps;
  /** Headers of the gateway's own on every answer that an account gave. */
  readonly ownHeaders: (turn: LiveTurn) => Readonly<Record<string, string>>;
}

/** What one turn has beside the services. */
export interface TurnResources {
  readonly slot: Slot;
  /** Of the turn's Pool. */
  readonly budget: RetryBudget;
  readonly recovery: CiphertextRecovery;
}

/** `gone`: the client left. `none`: no account is left. */
type Choice = Lease | 'gone' | 'none';

/** Shorter header values are common words. */
const SHORTEST_SECRET = 8;

export class TurnAttempts implements Recoverable, Confidential {
  readonly turn: DispatchRequest['turn'];
  readonly tried = new Set<string>();
  readonly exhaustedMakers = new Set<string>();
  continuation!: Continuation;
  demand!: Demand;
  body: Body;
  sentBody: Body;
  resent = false;
  readonly #services: TurnServices;
  readonly #request: DispatchRequest;
  readonly #resources: TurnResources;
  readonly #log: AttemptLog;
  readonly #failures: Failure[] = [];
  /** The account of the last attempt, and why it was chosen. */
  #account: AccountConfig | undefined;
  #why: Why | null = null;
  #upload: Upload | undefined;
  /** Undefined for a turn that goes over HTTP. */
  readonly #socket: TurnSocket | undefined;

  constructor(services: TurnServices, request: DispatchRequest, resources: TurnResources) {
    const { turn, payload } = request;
    this.turn = turn;
    this.body = payload.kind === 'json' ? payload.work.body : {};
    this.sentBody = this.body;
    this.#socket = turnSocketOf(request, services.websockets);
    this.#services = services;
    this.#request = request;
    this.#resources = resources;
    this.#log = new AttemptLog(turn.id, turn);
  }

  /** Never rejects. One function for all that waits: each further one costs every turn a promise and a turn of the microtask queue. */
  async run(): Promise<Dispatched> {
    const { turn } = this;
    let end: DispatchEnd | undefined;
    try {
      const body = this.#request.payload.kind === 'json' ? this.body : undefined;
      const resuming = this.#services.continuity.resume(turn, body);
      this.continuation = this.#preferLive(resuming instanceof Promise ? await resuming : resuming);
      this.#begin();
      let recovered: Choice | undefined;
      while (!end) {
        const choosing = recovered ?? this.#choose();
        const lease = choosing instanceof Promise ? await choosing : choosing;
        if (lease === 'gone') end = this.#gone(false);
        else if (lease === 'none') end = this.#failed();
        else {
          this.tried.add(lease.account.id);
          this.#why = recovered ? { ...lease.why, reason: 'ciphertext' } : lease.why;
          let result: AttemptResult = 'neutral';
          let attempted: Attempted;
          try {
            attempted = await this.#attempt(lease, this.resent ? 'resend' : (this.#failures.at(-1)?.cause ?? 'first'));
            if (this.#socket?.sendsAgain(attempted, lease.account)) attempted = await this.#attempt(lease, 'resend');
            if (isCredentialRefused(attempted)) {
              const resend = this.#isSpent ? undefined : (): Promise<Attempted> => this.#attempt(lease, 'resend');
              ({ attempted, result } = await renewCredential(attempted, lease.account, this.#services.credentials, resend));
            } else result = resultOf(attempted);
          } finally {
            lease.end(isForeignModel(result, turn) ? 'neutral' : result);
          }
          const { verdict, status } = attempted;
          if (verdict.kind === 'failed') recovered = await this.#next(verdict.failure, status, lease.account.id);
          else if (verdict.kind === 'gone') end = this.#gone(verdict.shown);
          else if (verdict.kind === 'done') end = { kind: 'ended', ending: verdict.ending, close: verdict.close };
          else end = { ...verdict, kind: 'refused' };
        }
      }
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) turn.fault(thrown);
      end = { kind: 'refused', refusal: refusalOf(thrown) };
    }
    this.#resources.slot.release();
    return { attempts: { rows: this.#log.rows, account: this.#account?.label ?? null, why: this.#why }, end };
  }

  secrets(): readonly string[] {
    const account = this.#account;
    if (!account) return [];
    const bearer = this.#services.credentials.secretOf(account.id, this.turn.generation.loaded);
    const configured = Object.values(account.headers).filter(({ length }) => length >= SHORTEST_SECRET);
    return bearer === undefined ? configured : [bearer, ...configured];
  }

  prompt(): string {
    return promptOf(this.body);
  }

  #begin(): void {
    const { turn, client } = this.#request;
    const { selection, counters } = this.#services;
    const onGone = (left: () => void): (() => void) => client.onGone(left);
    this.demand = selection.demand({ turn, continuation: this.continuation, slot: this.#resources.slot, onGone });
    this.#resources.budget.turn(turn.now());
    counters.add('turns');
    if (!this.#socket?.anchorIsGone) return;
    selection.requirePinned(this.demand);
    throw anchorNotFound();
  }

  /** A turn that continues nothing stays at the account of the live socket, as long as that can take it. */
  #preferLive(continuation: Continuation): Continuation {
    const live = this.#request.client.upstreamSocket?.account;
    return live === undefined || continuation.soft !== undefined ? continuation : { ...continuation, soft: live };
  }

  /** After a failure: the lease to go on with, undefined where one has to be chosen, or `none`. */
  async #next(failure: Failure, status: number | undefined, account: string): Promise<Choice | undefined> {
    const { counters } = this.#services;
    this.#failures.push(failure);
    const recovered = this.#recovers(failure, account) ? await this.#resources.recovery.next(this, failure, account) : undefined;
    const again = recovered !== undefined || this.#mayRetry(failure, status);
    if (!again && !(await this.#rechecked(failure, status))) return 'none';
    this.#resources.budget.retry(this.turn.now());
    counters.add('retries');
    return recovered;
  }

  /** `none` only after an attempt: the client then gets that attempt's failure. @throws Refusal before the first attempt */
  #choose(): Choice | Promise<Choice> {
    const none = (thrown: unknown): 'none' => {
      if (this.#failures.length === 0 || !(thrown instanceof Refusal)) throw thrown;
      return 'none';
    };
    try {
      const choosing = this.#services.selection.choose(this.demand, this.tried);
      return choosing instanceof Promise ? choosing.then((lease) => lease ?? 'gone', none) : choosing;
    } catch (thrown) {
      return none(thrown);
    }
  }

  #attempt(lease: Lease, cause: AttemptCause): Promise<Attempted> {
    const { turn } = this;
    const { account } = lease;
    this.#account = account;
    const pending = this.#services.credentials.headersFor(account, turn.generation.loaded);
    if (!(pending instanceof Promise)) return this.#send(lease, cause, pending);
    return pending.catch(asUnavailable).then((own) => {
      if (!(own instanceof CredentialUnavailable)) return this.#send(lease, cause, own);
      const failure = unsentFailure(own.why);
      this.#log.begin(account.label, cause)({ status: undefined, failure });
      return { verdict: { kind: 'failed', failure }, status: undefined, authorization: undefined, over: 'http', reused: false };
    });
  }

  #send(lease: Lease, cause: AttemptCause, own: AccountHeaders): Promise<Attempted> {
    const { turn, client, payload, countOutput } = this.#request;
    const { account } = lease;
    const { counters, ownHeaders, continuity, observers } = this.#services;
    const trim = (out: Outgoing): void => continuity.trim(out, this.continuation, turn.wire);
    const composition = { turn, account, own, trim };
    let request: CarrierRequest;
    let slot: SocketSlot | undefined;
    if (payload.kind === 'json') {
      this.sentBody = continuity.fit(this.body, this.continuation, account.id);
      const frame = this.#socket?.carries(account) ? composeFrame(this.sentBody, composition) : undefined;
      if (frame && this.#socket?.fits((frame.body as Buffer).length)) slot = this.#socket.slot;
      request = slot && frame ? frame : composeJson(this.sentBody, composition);
    } else {
      // Opened as late as this: the client is asked for its body when an account is there to take it.
      this.#upload = payload.open?.();
      request = composeStream(this.#upload, composition);
    }
    const complete = this.#log.begin(account.label, cause);
    const keepResponse = slot && ((id: string): void => slot.keepResponse(id, turn.model?.mode?.effective));
    const observed = observers.of({ turn, account, continuation: this.continuation, keepResponse });
    counters.add('attempts');
    if (lease.isProbe) counters.add('probes');
    return attempt({
      turn,
      client,
      counters,
      upstream: lease.upstream,
      request,
      slot,
      upload: this.#upload,
      known: this,
      countOutput,
      retryable: (failure) =>
        this.#mayRetry(failure, failure.status) || this.#recovers(failure, account.id) || this.#socket?.isAtFault(failure) === true,
      committed: () => {
        lease.answered();
        observed.committed();
      },
      observers: observed,
      followUp: this.#followUp(lease),
      ownHeaders: ownHeaders(turn),
      ended: ({ verdict, status }) => {
        const failure = failureOf(verdict);
        complete({ status, failure });
        if (failure && verdict.kind !== 'failed') noteErrorClass(turn, failure);
      },
    });
  }

  #followUp({ account: { id: account }, upstream }: Lease): AttemptOptions['followUp'] {
    const { turn, payload } = this.#request;
    const followUp = turn.route.kind && this.#services.followUps[turn.route.kind];
    if (!followUp || payload.kind !== 'json') return undefined;
    const { work } = payload;
    return (answer, signal) => followUp({ turn, account, upstream, work, answer, signal });
  }

  /** Whether the request has a body that can be sent once, and was (Q6). */
  get #isSpent(): boolean {
    return this.#upload?.isTaken() ?? false;
  }

  /** @param status the account's, where a reply came */
  #mayRetry(failure: Failure, status: number | undefined): boolean {
    const { turn, tried } = this;
    const { selection, counters } = this.#services;
    if (!isRetryable(failure) || tried.size >= turn.pool.max_attempts || this.#isSpent) return false;
    if (turn.kind.retry === 'before head' && status !== undefined && status < 300) return false;
    if (!selection.hasCandidate(this.demand, tried)) return false;
    if (this.#resources.budget.allows(turn.now())) return true;
    counters.add('retries_withheld');
    return false;
  }

  /** Whether the failure is about ciphertext, and another attempt or the advice to restart answers it. */
  #recovers(failure: Failure, account: string): boolean {
    return this.#request.payload.kind === 'json' && this.#resources.recovery.helps(this, failure, account);
  }

  /** Before a turn is refused for exhausted quota, the accounts with old evidence alone are asked for their usage again (Q8). */
  async #rechecked(failure: Failure, status: number | undefined): Promise<boolean> {
    if (failure.cause !== 'quota' || this.demand.hard !== undefined) return false;
    const asking = this.#services.selection.recheck(this.demand, this.tried);
    if (!asking) return false;
    await asking;
    return this.#mayRetry(failure, status);
  }

  /** No account is left: the client gets the last failure, or the quota's reset of all accounts (Q3). */
  #failed(): DispatchEnd {
    const { turn, demand } = this;
    const last = this.#failures.at(-1) as Failure;
    const param = safeParam(last.error.param);
    if (param !== null) turn.note('upstream_error_param', param);
    noteErrorClass(turn, last);
    const anchorGone = this.#socket?.refusal(last);
    if (anchorGone) return { kind: 'refused', refusal: anchorGone };
    const exhausted = last.cause === 'quota' && demand.hard === undefined ? this.#services.selection.refusal(demand) : undefined;
    if (exhausted?.code === 'usage_limit_reached') return { kind: 'refused', refusal: exhausted };
    const answer = clientError(this.#failures, turn, this);
    return answer instanceof Refusal ? { kind: 'refused', refusal: answer } : { kind: 'relayed', answer };
  }

  #gone(shown: boolean): DispatchEnd {
    this.#services.counters.add('client_gone');
    return { kind: 'ended', ending: clientGone(shown) };
  }
}

/** The account lacks a model that need not be in any catalog: a client could name one that no account has, and cool them all. */
const isForeignModel = (result: AttemptResult, { kind }: DispatchRequest['turn']): boolean =>
  typeof result === 'object' && result.cause === 'model' && !kind.model;
