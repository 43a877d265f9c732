// THE LOOP: the attempts of one turn, one account after another, until its client has an answer (Q6).

import type { Why } from '../../store/rows.ts';
import type { AttemptResult } from '../accounts/health/account-health.ts';
import { type Demand, demandOf } from '../accounts/selection/demand.ts';
import type { Lease } from '../accounts/selection/lease.ts';
import type { Selection } from '../accounts/selection/selection.ts';
import type { Slot } from '../admission/admission.ts';
import type { LiveSocket } from '../sessions/continuity.ts';
import type { Continuation } from '../turn/continuation.ts';
import { noteErrorClass } from '../turn/error-class.ts';
import type { Failure } from '../turn/failure.ts';
import { Refusal, refusalOf } from '../turn/refusal.ts';
import { safeParam } from '../turn/sanitise.ts';
import type { Body } from '../turn/turn.ts';
import { clientGone } from '../turn/turn-result.ts';
import type { WebsocketSupport } from '../upstream/websocket-support.ts';
import type { Attempted } from './attempt.ts';
import type { AttemptCause } from './attempt-log.ts';
import { AttemptSender, type SenderServices } from './attempt-sender.ts';
import { clientError } from './client-error.ts';
import type { DispatchEnd, Dispatched, DispatchedTurn, DispatchRequest } from './dispatch-request.ts';
import { isQuotaOfAll, type NextStep, type NextSteps } from './next-step.ts';
import { failureOf } from './reply-context.ts';
import type { RetryBudget } from './retry-budget.ts';
import { repeatAt, resultOf } from './same-account.ts';
import type { TurnProgress } from './turn-progress.ts';
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
  readonly steps: NextSteps;
}

export class TurnAttempts implements TurnProgress {
  readonly turn: DispatchedTurn;
  readonly tried = new Set<string>();
  readonly exhaustedMakers = new Set<string>();
  readonly hasJson: boolean;
  readonly socket: TurnSocket | undefined;
  readonly budget: RetryBudget;
  continuation!: Continuation;
  demand!: Demand;
  body: Body;
  resent = false;
  readonly #services: TurnServices;
  readonly #request: DispatchRequest;
  readonly #resources: TurnResources;
  readonly #sender: AttemptSender;
  readonly #failures: Failure[] = [];
  /** Of the accounts in `tried`, those where the turn has no meaning. */
  readonly #skipped = new Set<string>();
  /** Why the account of the last attempt was chosen. */
  #why: Why | null = null;

  constructor(services: TurnServices, request: DispatchRequest, resources: TurnResources) {
    const { turn, payload } = request;
    this.turn = turn;
    this.hasJson = payload.kind === 'json';
    this.body = payload.kind === 'json' ? payload.work.body : {};
    this.socket = turnSocketOf(request, services.websockets);
    this.budget = resources.budget;
    this.#services = services;
    this.#request = request;
    this.#resources = resources;
    this.#sender = new AttemptSender(services, request, this.body, this.socket);
  }

  /** Never rejects. One function for all that waits: each further one costs every turn a promise and a turn of the microtask queue. */
  async run(): Promise<Dispatched> {
    const { turn } = this;
    const live = this.#request.client.upstreamSocket;
    let end: DispatchEnd | undefined;
    try {
      const resumed = await this.#services.continuity.resume(turn, this.hasJson ? this.body : undefined, live);
      this.continuation = preferLive(resumed, live);
      this.#begin();
      let next: NextStep = 'choose';
      while (!end) {
        const lease: Exclude<NextStep, 'choose'> = await (next === 'choose' ? this.#choose() : next);
        if (lease === 'gone') end = this.#gone(false);
        else if (lease === 'end') end = this.#failed();
        else if ((lease.granted && !(await lease.granted)) || this.socket?.skips(lease.account)) {
          // Another node probes this account, or another turn has learnt meanwhile that it has no websocket.
          lease.end('neutral');
          next = 'choose';
        } else {
          const { account } = lease;
          this.tried.add(account.id);
          this.#why = next === 'choose' ? lease.why : { ...lease.why, reason: 'ciphertext' };
          let result: AttemptResult = 'neutral';
          let attempted: Attempted;
          try {
            attempted = await this.#attempt(lease, this.resent ? 'resend' : (this.#failures.at(-1)?.cause ?? 'first'));
            if (failureOf(attempted.verdict)) ({ attempted, result } = await this.#repeat(lease, attempted));
            else result = resultOf(attempted);
          } finally {
            lease.end(isForeignModel(result, turn) ? 'neutral' : result);
          }
          const { verdict, status } = attempted;
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
      end = { kind: 'refused', refusal: refusalOf(thrown) };
    }
    this.#resources.slot.release();
    const { log, account } = this.#sender;
    return { attempts: { rows: log.rows, account: account?.label ?? null, why: this.#why }, end };
  }

  get attempts(): number {
    return this.tried.size - this.#skipped.size;
  }

  get isSpent(): boolean {
    return this.#sender.isSpent;
  }

  get sentBody(): Body {
    return this.#sender.sentBody;
  }

  #begin(): void {
    const { turn, client } = this.#request;
    const { selection, counters } = this.#services;
    const onGone = (left: () => void): (() => void) => client.onGone(left);
    this.demand = demandOf({ turn, continuation: this.continuation, slot: this.#resources.slot, onGone });
    this.budget.turn(turn.now());
    counters.add('turns');
    if (!this.socket?.anchorIsGone) return;
    selection.candidates.requirePinned(this.demand);
    throw anchorNotFound();
  }

  /** Closes the accounts where the turn has no meaning. */
  #skip(socket: TurnSocket): void {
    const { pool, generation } = this.turn;
    for (const { account: id } of pool.assignments) {
      const account = generation.accounts.get(id);
      if (!account || !socket.skips(account)) continue;
      this.tried.add(id);
      this.#skipped.add(id);
    }
  }

  /** `end` only after an attempt: the client then gets that attempt's failure. @throws Refusal before the first attempt */
  #choose(): Lease | 'end' | Promise<Lease | 'gone' | 'end'> {
    const none = (thrown: unknown): 'end' => {
      if (!(thrown instanceof Refusal)) throw thrown;
      if (this.#failures.length > 0) return 'end';
      if (this.#resources.steps.refusesConversation(this, thrown)) throw anchorNotFound();
      throw this.#skipped.size > 0 && thrown.code === 'no_eligible_account' ? prewarmImpossible() : thrown;
    };
    if (this.socket?.skipsAccounts) this.#skip(this.socket);
    try {
      const choosing = this.#services.selection.choose(this.demand, this.tried);
      return choosing instanceof Promise ? choosing.then((lease) => lease ?? 'gone', none) : choosing;
    } catch (thrown) {
      return none(thrown);
    }
  }

  #attempt(lease: Lease, cause: AttemptCause): Promise<Attempted> {
    const { body, continuation } = this;
    const keepsBack = (failure: Failure): boolean => this.#resources.steps.keepsBack(this, failure, lease.account.id);
    return this.#sender.send(lease, { cause, body, continuation, keepsBack });
  }

  #repeat(lease: Lease, failed: Attempted): ReturnType<typeof repeatAt> {
    const { account } = lease;
    const { credentials } = this.#services;
    const resend = (): Promise<Attempted> => this.#attempt(lease, 'resend');
    return repeatAt({ account, credentials, socket: this.socket, isSpent: () => this.isSpent, resend }, failed);
  }

  #next(failure: Failure, status: number | undefined, { account }: Lease): NextStep | Promise<NextStep> {
    // It has just said that it has no websocket.
    if (this.socket?.skips(account)) return 'choose';
    this.#failures.push(failure);
    return this.#resources.steps.after(this, failure, status, account.id);
  }

  /** No account is left: the client gets the last failure, or the quota's reset of all accounts (Q3). */
  #failed(): DispatchEnd {
    const { turn, demand } = this;
    const last = this.#failures.at(-1) as Failure;
    const param = safeParam(last.error.param);
    if (param !== null) turn.note('upstream_error_param', param);
    noteErrorClass(turn, last);
    const own = this.#resources.steps.endsConversation(this, last) ? anchorNotFound() : this.socket?.refusal(last);
    if (own) return { kind: 'refused', refusal: own };
    const exhausted = isQuotaOfAll(this, last) ? this.#services.selection.candidates.refusal(turn.pool, demand.scope) : undefined;
    if (exhausted?.code === 'usage_limit_reached') return { kind: 'refused', refusal: exhausted };
    const answer = clientError(this.#failures, turn, this.#sender);
    return answer instanceof Refusal ? { kind: 'refused', refusal: answer } : { kind: 'relayed', answer };
  }

  #gone(shown: boolean): DispatchEnd {
    this.#services.counters.add('client_gone');
    return { kind: 'ended', ending: clientGone(shown) };
  }
}

/** A turn that continues nothing stays at the account of the live socket, as long as that can take it. */
const preferLive = (continuation: Continuation, live: LiveSocket | undefined): Continuation =>
  live?.account === undefined || continuation.soft !== undefined ? continuation : { ...continuation, soft: live.account };

/** The account lacks a model that need not be in any catalog: a client could name one that no account has, and cool them all. */
const isForeignModel = (result: AttemptResult, { kind }: DispatchRequest['turn']): boolean =>
  typeof result === 'object' && result.cause === 'model' && !kind.model;
