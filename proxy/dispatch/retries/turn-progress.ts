// The progress of one turn's attempts: the state that the decision about the next attempt reads, and that recovery changes.
import type { Demand } from '../../accounts/selection/demand.ts';
import type { CiphertextOrigins } from '../../turn/ciphertext-origins.ts';
import type { Continuation } from '../../turn/continuation.ts';
import { type Failure, isRetryable } from '../../turn/errors/failure.ts';
import type { LackReason } from '../../turn/provider/lack.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { Body } from '../../turn/turn.ts';
import type { AttemptSender } from '../attempt-sender.ts';
import type { DispatchedTurn, DispatchRequest, FallbackModels } from '../request/dispatch-request.ts';
import type { TurnSocket } from '../turn-socket.ts';
import type { RetryBudget } from './retry-budget.ts';

/** What may follow a failure. */
export interface FailureDecision {
  readonly failure: Failure;
  /** Whether the failure is about ciphertext, and leads to another attempt or to the advice to restart. */
  readonly recovers: boolean;
  /** Whether another account may be tried. `withheld`: the Pool's budget is used up. */
  readonly retry: 'yes' | 'no' | 'withheld';
}

/** What was done for earlier models of the turn. */
export interface Earlier {
  readonly attempts: number;
  readonly ids: number;
}

const NOTHING_EARLIER: Earlier = { attempts: 0, ids: 0 };

/** Lacks that bind a turn to accounts of its model. */
const BOUND: ReadonlySet<LackReason> = new Set(['anchor', 'files', 'compaction_item', 'ciphertext']);

export class TurnProgress {
  readonly turn: DispatchedTurn;
  /** Whether the body can be read and changed between attempts. */
  readonly hasJson: boolean;
  /** Undefined for a turn that goes over HTTP. */
  readonly socket: TurnSocket | undefined;
  /** The retry budget of the turn's Pool. */
  readonly budget: RetryBudget;
  /** The accounts that are excluded for the turn. */
  readonly tried = new Set<string>();
  /** Accounts that made ciphertext of the turn and could not take it. */
  readonly exhaustedMakers = new Set<string>();
  /** What was done for earlier models of the turn (AA76). */
  readonly #earlier: Earlier;
  readonly #chain: FallbackModels | undefined;
  /** The failures that decided the next step, in order. */
  readonly failures: Failure[] = [];
  /** The continuation and the demand. Both are set before the first attempt. */
  continuation!: Continuation;
  demand!: Demand;
  /** The makers of the turn's ciphertext. Undefined if it has none, or if its accounts have one API. */
  origins: CiphertextOrigins | undefined;
  /** The body from which the following attempts start. */
  body: Body;
  /** The decision about the last failure. */
  decision: FailureDecision | undefined;
  /** Whether the turn's reasoning was removed, which is done at most once. */
  resent = false;
  /** The accounts in `tried` that cannot serve the turn at all. */
  readonly #skipped = new Set<string>();
  readonly #sender: AttemptSender;

  constructor(
    { turn, payload, chain }: DispatchRequest,
    sender: AttemptSender,
    socket: TurnSocket | undefined,
    budget: RetryBudget,
    earlier: Earlier = NOTHING_EARLIER,
  ) {
    this.#earlier = earlier;
    this.#chain = chain;
    this.turn = turn;
    this.hasJson = payload.kind === 'json';
    this.socket = socket;
    this.budget = budget;
    this.body = sender.sentBody;
    this.#sender = sender;
  }

  /** Whether the request has a body that can be sent only once, and has been sent (Q6). */
  get isSpent(): boolean {
    return this.#sender.isSpent;
  }

  /** The body that the last attempt sent. */
  get sentBody(): Body {
    return this.#sender.sentBody;
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

  /** What following models of the chain have to know. */
  get sofar(): Earlier {
    return { attempts: this.#earlier.attempts + (this.demand ? this.attempts : 0), ids: this.#earlier.ids + 1 };
  }

  /** Whether no further attempt is allowed. Each model of a chain adds one. */
  get isOutOfAttempts(): boolean {
    const { attempts, ids } = this.#earlier;
    return this.attempts + attempts >= this.turn.pool.max_attempts + ids;
  }

  /** Whether the turn may go to another model if no account can serve this one (AA75). */
  get mayGoOn(): boolean {
    if (!this.#chain?.hasNext || !this.demand || this.isSpent) return false;
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

  /** Excludes the other accounts of an API that cannot express the turn (AA46). */
  skipOthers(isOfApi: (account: AccountConfig) => boolean): void {
    const { pool, generation } = this.turn;
    for (const { account: id } of pool.assignments) {
      const account = generation.accounts.get(id);
      if (!account || this.tried.has(id) || !isOfApi(account)) continue;
      this.tried.add(id);
      this.#skipped.add(id);
    }
  }

  /** Excludes the accounts that cannot serve the turn at all. */
  skipAccounts(): void {
    const { socket } = this;
    if (!socket?.skipsAccounts) return;
    const { pool, generation } = this.turn;
    for (const { account: id } of pool.assignments) {
      const account = generation.accounts.get(id);
      if (!account || this.demand.lacking.has(id) || !socket.skips(account)) continue;
      this.tried.add(id);
      this.#skipped.add(id);
    }
  }
}
