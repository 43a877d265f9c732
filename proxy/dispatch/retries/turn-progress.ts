// The progress of one turn's attempts, which all of them have in common. The decision about the next attempt reads it, and recovery changes
// it.
import type { AttemptRow } from '../../../store/schema/logged-rows.ts';
import type { Demand } from '../../accounts/selection/demand.ts';
import type { Counters } from '../../base/process/metrics.ts';
import type { Continuity } from '../../sessions/continuity.ts';
import type { CiphertextOrigins } from '../../turn/ciphertext-origins.ts';
import type { Continuation } from '../../turn/continuation.ts';
import { type Failure, isRetryable } from '../../turn/errors/failure.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import type { Confidential } from '../../turn/errors/sanitise.ts';
import { promptOf } from '../../turn/prompt.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { LackReason } from '../../turn/provider/lack.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Body, UpstreamErrorClass, Work } from '../../turn/turn.ts';
import type { AccountCredentials } from '../../upstream/account-credentials.ts';
import type { Upload } from '../client.ts';
import type { DispatchedTurn, DispatchRequest } from '../request/dispatch-request.ts';
import type { TurnSocket } from '../turn-socket.ts';
import type { RetryBudget, RetryBudgets } from './retry-budget.ts';

/** What may follow a failure. */
export interface FailureDecision {
  readonly failure: Failure;
  /** Whether the failure is about ciphertext, and leads to another attempt or to the advice to restart. */
  readonly recovers: boolean;
  /** Whether another account may be tried. `withheld`: the Pool's budget is used up. */
  readonly retry: 'yes' | 'no' | 'withheld';
}

/** What was done for earlier models of the turn. */
interface Earlier {
  readonly attempts: number;
  readonly ids: number;
}

const NOTHING_EARLIER: Earlier = { attempts: 0, ids: 0 };

/** Lacks that bind a turn to accounts of its model. */
const BOUND: ReadonlySet<LackReason> = new Set(['anchor', 'files', 'compaction_item', 'ciphertext']);

/** Refusals of a turn that generates nothing, by the accounts that could take it. */
const ANSWERED: ReadonlySet<string | null> = new Set(['websocket_upgrade_required', 'usage_limit_reached', 'server_is_overloaded']);

/** A row whose attempt may still run. */
export type OpenRow = { -readonly [Field in keyof AttemptRow]: AttemptRow[Field] };

export interface ProgressServices {
  readonly credentials: Pick<AccountCredentials, 'secretOf'>;
  readonly counters: Counters;
  readonly budgets: RetryBudgets;
}

const NONE: ReadonlySet<string> = new Set();

const BEARER = /^bearer /i;

/** The shortest header value that counts as a secret. Shorter values are common words. */
const SHORTEST_SECRET = 8;

export class TurnProgress implements Confidential {
  readonly request: DispatchRequest;
  readonly turn: DispatchedTurn;
  readonly counters: Counters;
  /** The request as the rules left it, which can be changed between attempts; undefined if its body passes unread. */
  readonly work: Work | undefined;
  /** Undefined for a turn that goes over HTTP. */
  readonly socket: TurnSocket | undefined;
  /** The retry budget of the turn's Pool. */
  readonly budget: RetryBudget;
  /** The rows of the attempts in order, beginning with those for earlier models of the turn. */
  readonly rows: OpenRow[];
  /** Whether any attempt was sent to its account. */
  wasSent: boolean;
  /** The accounts that are excluded for the turn. */
  readonly tried = new Set<string>();
  /** Accounts that made ciphertext of the turn and could not take it. */
  exhaustedMakers: ReadonlySet<string> = NONE;
  /** The failures that decided the next step, in order. */
  readonly failures: Failure[] = [];
  /** The continuation and the demand. Both are set before the first attempt. */
  continuation!: Continuation;
  demand!: Demand;
  /** The makers of the turn's ciphertext. Undefined if it has none, or if its accounts have one API. */
  origins: CiphertextOrigins | undefined;
  /** The body from which the following attempts start. */
  body: Body;
  /** The account of the last attempt. */
  account: AccountConfig | undefined;
  /** The static bearer of that account. */
  bearer: string | undefined;
  /** The body that the last attempt sent. Before the first attempt, the whole body. */
  sentBody: Body;
  /** The body of the last attempt, if it passes unread. */
  upload: Upload | undefined;
  /** The decision about the last failure. */
  decision: FailureDecision | undefined;
  /** Whether the turn's reasoning was removed, which is done at most once. */
  resent = false;
  /** The accounts in `tried` that cannot serve the turn at all. */
  #skipped: ReadonlySet<string> = NONE;
  #isAnswerable = false;
  readonly #credentials: ProgressServices['credentials'];
  /** The credentials that attempts carried. One that was renewed since its attempt may still be valid. */
  readonly #carried: string[] = [];
  #session: { readonly id: string | undefined } | undefined;
  /** What was done for earlier models of the turn (AA76). */
  readonly #earlier: Earlier;

  /** @param earlier the attempts for earlier models of the chain */
  constructor(request: DispatchRequest, services: ProgressServices, socket: TurnSocket | undefined, earlier?: TurnProgress) {
    const { turn, payload } = request;
    this.request = request;
    this.turn = turn;
    this.counters = services.counters;
    this.work = payload.kind === 'json' ? payload.work : undefined;
    this.socket = socket;
    this.budget = services.budgets.of(turn.pool.id);
    this.rows = earlier?.rows ?? [];
    this.wasSent = earlier?.wasSent ?? false;
    this.body = this.work?.body ?? {};
    this.sentBody = this.body;
    this.#credentials = services.credentials;
    this.#earlier = earlier?.soFar ?? NOTHING_EARLIER;
  }

  /** Whether the request has a body that can be sent only once, and has been sent (Q6). */
  get isSpent(): boolean {
    return this.upload?.isTaken() ?? false;
  }

  /** The body for an account, without the ciphertext that it cannot read. */
  bodyFor(account: AccountConfig): Body {
    return this.origins?.foreignTo(account)?.without(this.body) ?? this.body;
  }

  /** The session id of the turn, if it is sent to this account. It is the same for every attempt. */
  sessionAt({ session_header }: AccountConfig, continuity: Pick<Continuity, 'sessionHeader'>): string | undefined {
    if (session_header === 'none' || !this.work || !this.turn.kind.metered) return undefined;
    this.#session ??= { id: continuity.sessionHeader(this.turn, this.work.body) };
    return this.#session.id;
  }

  /** Notes a credential that an attempt carries. */
  carry(authorization: string | undefined): void {
    if (authorization !== undefined) this.#carried.push(authorization);
  }

  secrets(): readonly string[] {
    const { account } = this;
    if (!account) return [];
    const secrets = this.#carried.map((value) => value.replace(BEARER, ''));
    const current = this.#credentials.secretOf(account, this.bearer);
    if (current !== undefined) secrets.push(current);
    for (const value of Object.values(account.headers)) if (value.length >= SHORTEST_SECRET) secrets.push(value);
    return secrets;
  }

  prompt(): string {
    return promptOf(this.sentBody);
  }

  /** Sets the class of the last attempt, if it is only known from the effect on the account. */
  classify(error_class: UpstreamErrorClass): void {
    const last = this.rows.at(-1);
    if (last) last.error_class = error_class;
  }

  /** The number of accounts that were tried. */
  get attempts(): number {
    return this.tried.size - this.#skipped.size - this.demand.lacking.size;
  }

  /** The accounts that would be excluded if the turn were sent in full, because an account may lack only what the anchor needs (AA23). */
  get closedInFull(): ReadonlySet<string> {
    const { lacking } = this.demand;
    if (lacking.size === 0) return this.tried;
    return new Set([...this.tried].filter((id) => lacking.get(id)?.reason !== 'anchor'));
  }

  /** The demand of the turn if it were sent in full. */
  get demandInFull(): Demand {
    const lacking = new Map([...this.demand.lacking].filter(([, { reason }]) => reason !== 'anchor'));
    return { ...this.demand, hard: undefined, lacking };
  }

  /** What was done until now, for the following models of the chain. */
  get soFar(): Earlier {
    return { attempts: this.#earlier.attempts + (this.demand ? this.attempts : 0), ids: this.#earlier.ids + 1 };
  }

  /** Whether no further attempt is allowed. Each model of a chain adds one. */
  get isOutOfAttempts(): boolean {
    const { attempts, ids } = this.#earlier;
    return this.attempts + attempts >= this.turn.pool.max_attempts + ids;
  }

  /** Whether the turn may go to another model if no account can serve this one (AA75). */
  get mayGoOn(): boolean {
    if (!this.request.chain?.hasNext || !this.demand || this.isSpent) return false;
    const { hard, lacking, tiers } = this.demand;
    if (hard !== undefined || typeof this.body.previous_response_id === 'string') return false;
    const lacks = [...lacking.values(), ...(tiers?.excluded.values() ?? [])];
    return !lacks.some(({ reason }) => BOUND.has(reason));
  }

  /** Whether the turn goes to another model after this failure. */
  goesOn(failure: Failure): boolean {
    return isRetryable(failure) && this.mayGoOn && this.budget.allows(this.turn.now());
  }

  /** Whether an account was excluded because it cannot serve the turn at all. */
  get hasSkipped(): boolean {
    return this.#skipped.size > 0;
  }

  /** Whether the gateway answers the turn instead of this failure, because it generates nothing and an API account can continue it (AA24). */
  answersItself(failure: Failure): boolean {
    return this.#isAnswerable && isRetryable(failure);
  }

  /** Whether the gateway answers a turn that generates nothing instead of this refusal of selection (AA24). */
  answersInsteadOf({ code }: Refusal): boolean {
    return this.#isAnswerable && ANSWERED.has(code);
  }

  /** Excludes the other accounts of an API that cannot express the turn (AA46). */
  skipOthers(isOfApi: (account: AccountConfig) => boolean): void {
    this.#skip((account) => !this.tried.has(account.id) && isOfApi(account));
  }

  /** Excludes the accounts that cannot serve the turn at all. */
  skipAccounts(): void {
    const { socket, demand } = this;
    if (!socket?.skipsAccounts) return;
    this.#skip((account) => {
      if (demand.lacking.has(account.id) || !socket.skips(account)) return false;
      if (isApiAccount(account)) {
        this.#isAnswerable = true;
        demand.tiers?.answeredFor(account.id);
      }
      return true;
    });
  }

  #skip(isSkipped: (account: AccountConfig) => boolean): void {
    const { pool, generation } = this.turn;
    for (const { account: id } of pool.assignments) {
      const account = generation.accounts.get(id);
      if (!account || !isSkipped(account)) continue;
      this.tried.add(id);
      this.#skipped = new Set([...this.#skipped, id]);
    }
  }
}
