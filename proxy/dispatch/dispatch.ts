// A turn's attempts, one account after another: the only place that knows what may be tried again.
import type { Counters } from '../admin/counters.ts';
import type { LiveTurn } from '../live-turn.ts';
import type { Choice, Selection } from '../pool/select.ts';
import { Refusal } from '../refusal.ts';
import type { Work } from '../turn.ts';
import { type Attempted, attempt } from './attempt.ts';
import { compose } from './compose.ts';
import { type Failure, mayTryAnother } from './failure.ts';
import { RetryBudget } from './retry-budget.ts';
import { safeParam } from './sanitise.ts';
import type { Client } from './sink.ts';
import { type RelayedAnswer, told } from './tell.ts';

export interface DispatchOptions {
  readonly selection: Selection;
  readonly counters: Counters;
  /** Headers of ours on every answer of this turn that an account gave. */
  readonly ownHeaders: (turn: LiveTurn) => Readonly<Record<string, string>>;
}

export class Dispatch {
  readonly #options: DispatchOptions;
  readonly #budgets = new Map<string, RetryBudget>();

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the client has its answer, or has left.
   * @returns a provider's refusal for the client, where that is the answer
   * @throws Refusal when there is no other answer
   */
  async run(turn: LiveTurn, work: Work, client: Client): Promise<RelayedAnswer | undefined> {
    const { selection, counters } = this.#options;
    const budget = this.#budgetOf(turn.pool.id);
    budget.turn(turn.now());
    counters.add('turns');
    const tried = new Set<string>();
    const failures: Failure[] = [];
    for (;;) {
      const choice = selection.choose(turn, tried);
      if (!choice) {
        if (failures.length === 0) throw new Refusal('no_eligible_account');
        return this.#tell(failures, turn);
      }
      tried.add(choice.account.id);
      const retries = (failure: Failure): boolean => this.#mayRetry(turn, tried, failure, budget);
      const { verdict } = await this.#attempt(turn, work, client, choice, failures.at(-1), retries);
      if (verdict.kind === 'done') return undefined;
      if (verdict.kind === 'gone') {
        counters.add('client_gone');
        turn.end({ outcome: { kind: 'client_gone', shown: true }, status: 499, code: null });
        return undefined;
      }
      if (verdict.kind === 'refused') throw verdict.refusal;
      failures.push(verdict.failure);
      if (!retries(verdict.failure)) return this.#tell(failures, turn);
      budget.retry(turn.now());
      counters.add('retries');
    }
  }

  async #attempt(
    turn: LiveTurn,
    work: Work,
    client: Client,
    { account, upstream }: Choice,
    before: Failure | undefined,
    retries: (failure: Failure) => boolean,
  ): Promise<Attempted> {
    const { counters, ownHeaders } = this.#options;
    turn.account = account;
    counters.add('attempts');
    const at = turn.now();
    const row = { request_id: turn.id, ordinal: turn.attempts.length, at, account: account.label, cause: before?.cause ?? 'first' };
    const request = compose(turn, work, account);
    upstream.inFlight++;
    // The row stands before the attempt ends, so that a turn which ends inside it is recorded with it.
    const slot = turn.attempts.push({ ...row, status: null, error_class: null, duration_ms: 0, upstream_error_param: null }) - 1;
    try {
      const attempted = await attempt({
        turn,
        client,
        counters,
        carrier: upstream.carrier,
        request,
        retries,
        ownHeaders: ownHeaders(turn),
      });
      const failure = attempted.verdict.kind === 'failed' ? attempted.verdict.failure : undefined;
      turn.attempts[slot] = {
        ...row,
        status: attempted.status ?? null,
        error_class: failure?.cause ?? null,
        duration_ms: turn.now() - at,
        upstream_error_param: failure ? safeParam(failure.error.param) : null,
      };
      return attempted;
    } finally {
      upstream.inFlight--;
    }
  }

  #mayRetry(turn: LiveTurn, tried: ReadonlySet<string>, failure: Failure, budget: RetryBudget): boolean {
    if (!mayTryAnother(failure) || tried.size >= turn.pool.max_attempts) return false;
    if (!this.#options.selection.choose(turn, tried)) return false;
    if (budget.allows(turn.now())) return true;
    this.#options.counters.add('retries_withheld');
    return false;
  }

  #tell(failures: readonly Failure[], turn: LiveTurn): RelayedAnswer | undefined {
    const last = failures.at(-1) as Failure;
    const param = safeParam(last.error.param);
    if (param !== null) turn.note('upstream_error_param', param);
    if (last.cause === 'timeout') turn.note('error_class', 'upstream_timeout');
    const answer = told(failures, turn);
    if (answer instanceof Refusal) throw answer;
    return answer;
  }

  #budgetOf(pool: string): RetryBudget {
    const budget = this.#budgets.get(pool) ?? new RetryBudget();
    this.#budgets.set(pool, budget);
    return budget;
  }
}
