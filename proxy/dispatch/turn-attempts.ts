// THE LOOP: the attempts of one turn, one account after another. The only place that decides what is tried again (Q6).

import type { Why } from '../../store/rows.ts';
import type { AttemptResult } from '../accounts/health/account-health.ts';
import type { Demand } from '../accounts/selection/demand.ts';
import type { Lease } from '../accounts/selection/lease.ts';
import type { Selection } from '../accounts/selection/selection.ts';
import type { Slot } from '../admission/admission.ts';
import type { Continuation } from '../turn/continuation.ts';
import { noteErrorClass } from '../turn/error-class.ts';
import { type Failure, isRetryable } from '../turn/failure.ts';
import { Refusal, refusalOf } from '../turn/refusal.ts';
import { safeParam } from '../turn/sanitise.ts';
import type { Body } from '../turn/turn.ts';
import { clientGone } from '../turn/turn-result.ts';
import type { WebsocketSupport } from '../upstream/websocket-support.ts';
import type { Attempted } from './attempt.ts';
import type { AttemptCause } from './attempt-log.ts';
import { AttemptSender, type SenderServices } from './attempt-sender.ts';
import type { CiphertextRecovery, Recoverable } from './ciphertext-recovery.ts';
import { clientError } from './client-error.ts';
import { isCredentialRefused, renewCredential, resultOf } from './credential-renewal.ts';
import type { DispatchEnd, Dispatched, DispatchRequest } from './dispatch-request.ts';
import type { RetryBudget } from './retry-budget.ts';
import { anchorNotFound, prewarmImpossible, type TurnSocket, turnSocketOf } from './turn-socket.ts';

export interface TurnServices extends SenderServices {
  readonly selection: Selection;
  readonly websockets: WebsocketSupport;
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

export class TurnAttempts implements Recoverable {
  readonly turn: DispatchRequest['turn'];
  readonly tried = new Set<string>();
  readonly exhaustedMakers = new Set<string>();
  continuation!: Continuation;
  demand!: Demand;
  body: Body;
  resent = false;
  readonly #services: TurnServices;
  readonly #request: DispatchRequest;
  readonly #resources: TurnResources;
  readonly #sender: AttemptSender;
  readonly #failures: Failure[] = [];
  /** Accounts without websocket, which a turn without generation is not sent to. */
  readonly #skipped = new Set<string>();
  /** Why the account of the last attempt was chosen. */
  #why: Why | null = null;
  /** Undefined for a turn that goes over HTTP. */
  readonly #socket: TurnSocket | undefined;

  constructor(services: TurnServices, request: DispatchRequest, resources: TurnResources) {
    const { turn, payload } = request;
    this.turn = turn;
    this.body = payload.kind === 'json' ? payload.work.body : {};
    this.#socket = turnSocketOf(request, services.websockets);
    this.#services = services;
    this.#request = request;
    this.#resources = resources;
    this.#sender = new AttemptSender(services, request, this.body, this.#socket);
  }

  /** Never rejects. One function for all that waits: each further one costs every turn a promise and a turn of the microtask queue. */
  async run(): Promise<Dispatched> {
    const { turn } = this;
    let end: DispatchEnd | undefined;
    try {
      const body = this.#request.payload.kind === 'json' ? this.body : undefined;
      this.continuation = this.#preferLive(await this.#services.continuity.resume(turn, body));
      this.#begin();
      let recovered: Choice | undefined;
      while (!end) {
        const lease = await (recovered ?? this.#choose());
        if (lease === 'gone') end = this.#gone(false);
        else if (lease === 'none') end = this.#failed();
        else if (lease.granted && !(await lease.granted)) {
          // Another node probes this account.
          lease.end('neutral');
          recovered = undefined;
        } else if (this.#socket?.skips(lease.account)) {
          lease.end('neutral');
          this.#skip(lease);
          recovered = undefined;
        } else {
          this.tried.add(lease.account.id);
          this.#why = recovered ? { ...lease.why, reason: 'ciphertext' } : lease.why;
          let result: AttemptResult = 'neutral';
          let attempted: Attempted;
          try {
            attempted = await this.#attempt(lease, this.resent ? 'resend' : (this.#failures.at(-1)?.cause ?? 'first'));
            if (this.#socket?.sendsAgain(attempted, lease.account)) attempted = await this.#attempt(lease, 'resend');
            if (isCredentialRefused(attempted)) {
              const isLast = this.#sender.isSpent || attempted.verdict.kind !== 'failed';
              const resend = isLast ? undefined : (): Promise<Attempted> => this.#attempt(lease, 'resend');
              ({ attempted, result } = await renewCredential(attempted, lease.account, this.#services.credentials, resend));
            } else result = resultOf(attempted);
          } finally {
            lease.end(isForeignModel(result, turn) ? 'neutral' : result);
          }
          const { verdict, status } = attempted;
          if (verdict.kind === 'failed' && this.#socket?.skips(lease.account)) {
            this.#skip(lease);
            recovered = undefined;
          } else if (verdict.kind === 'failed') recovered = await this.#next(verdict.failure, status, lease.account.id);
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
      end = { kind: 'refused', refusal: refusalOf(thrown) };
    }
    this.#resources.slot.release();
    const { log, account } = this.#sender;
    return { attempts: { rows: log.rows, account: account?.label ?? null, why: this.#why }, end };
  }

  get sentBody(): Body {
    return this.#sender.sentBody;
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

  #skip({ account }: Lease): void {
    this.tried.add(account.id);
    this.#skipped.add(account.id);
  }

  /** `none` only after an attempt: the client then gets that attempt's failure. @throws Refusal before the first attempt */
  #choose(): Choice | Promise<Choice> {
    const none = (thrown: unknown): 'none' => {
      if (!(thrown instanceof Refusal)) throw thrown;
      if (this.#failures.length > 0) return 'none';
      throw this.#skipped.size > 0 && thrown.code === 'no_eligible_account' ? prewarmImpossible() : thrown;
    };
    try {
      const choosing = this.#services.selection.choose(this.demand, this.tried);
      return choosing instanceof Promise ? choosing.then((lease) => lease ?? 'gone', none) : choosing;
    } catch (thrown) {
      return none(thrown);
    }
  }

  #attempt(lease: Lease, cause: AttemptCause): Promise<Attempted> {
    const { body, continuation } = this;
    return this.#sender.send(lease, { cause, body, continuation, retryable: (failure) => this.#goesOn(failure, lease.account.id) });
  }

  /** Whether the turn would be tried again after this failure. */
  #goesOn(failure: Failure, account: string): boolean {
    return (
      this.#mayRetry(failure, failure.status) ||
      this.#recovers(failure, account) ||
      // The credential is renewed and the turn sent again. If that fails, the client gets upstream_error (Q3).
      failure.cause === 'credential' ||
      this.#socket?.isAtFault(failure) === true ||
      // The loop compares the resets of all accounts, and the client gets the soonest (Q3).
      (this.turn.client === 'websocket' && failure.cause === 'quota' && this.demand.hard === undefined)
    );
  }

  /** @param status the account's, where a reply came */
  #mayRetry(failure: Failure, status: number | undefined): boolean {
    const { turn, tried } = this;
    const { selection, counters } = this.#services;
    if (!isRetryable(failure) || tried.size - this.#skipped.size >= turn.pool.max_attempts || this.#sender.isSpent) return false;
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
    const answer = clientError(this.#failures, turn, this.#sender);
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
