// A turn's attempts, one account after another: the only place that knows what may be tried again (Q6).

import type { Demand } from '../accounts/selection/demand.ts';
import type { Lease } from '../accounts/selection/lease.ts';
import type { Selection } from '../accounts/selection/selection.ts';
import type { Admission, Slot } from '../admission/admission.ts';
import type { Counters } from '../metrics.ts';
import type { Continuity } from '../sessions/continuity.ts';
import { noteClass } from '../turn/error-class.ts';
import { type Failure, mayTryAnother, unsentFailure } from '../turn/failure.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { Refusal } from '../turn/refusal.ts';
import { safeParam } from '../turn/sanitise.ts';
import type { Work } from '../turn/turn.ts';
import { type Attempted, attempt } from './attempt.ts';
import { type AttemptOutcome, asksForRenewal, attemptOutcome, failureOf } from './attempt-outcome.ts';
import { type AttemptCause, beginAttempt } from './attempt-row.ts';
import { type Recoverable, Recovering } from './ciphertext-recovery.ts';
import { type RelayedAnswer, told } from './client-error.ts';
import { compose } from './compose.ts';
import { CredentialUnavailable, type OwnHeaders, type Renewing, unavailable } from './renewal.ts';
import type { ReplyObservers } from './reply-observers.ts';
import { RetryBudget } from './retry-budget.ts';
import type { Client } from './sink.ts';

export interface DispatchOptions {
  readonly admission: Admission;
  readonly selection: Selection;
  readonly credentials: Renewing;
  readonly continuity: Continuity;
  readonly witnesses: ReplyObservers;
  readonly counters: Counters;
  /** Headers of ours on every answer of this turn that an account gave. */
  readonly ownHeaders: (turn: LiveTurn) => Readonly<Record<string, string>>;
}

/** One turn on its way. */
interface Running extends Recoverable {
  readonly client: Client;
  readonly tried: Set<string>;
  readonly failures: Failure[];
  readonly budget: RetryBudget;
}

/** One that has its slot. */
interface Entered extends Pick<Running, 'turn' | 'work' | 'client'> {
  readonly slot: Slot;
  readonly onGone: Demand['onGone'];
}

/** `gone`: the client left. `none`: nobody is left to be asked. */
type Choice = Lease | 'gone' | 'none';

interface Failed {
  readonly failure: Failure;
  /** The provider's. */
  readonly status: number | undefined;
  readonly account: string;
}

export class Dispatch {
  readonly #options: DispatchOptions;
  readonly #recovering: Recovering;
  readonly #budgets = new Map<string, RetryBudget>();

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#recovering = new Recovering(options.continuity, options.selection);
  }

  /**
   * Takes a slot, then an account (Q4). Resolves when the client has its answer, or has left.
   * @returns a provider's refusal for the client, where that is the answer
   * @throws Refusal when there is no other answer; at once, not from the promise, where its class is full
   */
  run(turn: LiveTurn, work: Work, client: Client): Promise<RelayedAnswer | undefined> {
    const onGone = (aborted: () => void): (() => void) => client.onGone(aborted);
    const entering = this.#options.admission.acquire({ class: turn.route.class, onGone });
    if (!(entering instanceof Promise)) return this.#within({ turn, work, client, slot: entering, onGone });
    return entering.then((slot) => (slot ? this.#within({ turn, work, client, slot, onGone }) : this.#gone(turn)));
  }

  /** One function for what waits: each more that does costs every turn a promise and a round of the event loop's queue. */
  async #within(entered: Entered): Promise<RelayedAnswer | undefined> {
    const { turn, work, slot } = entered;
    try {
      const resuming = this.#options.continuity.resume(turn, work.body);
      turn.continuation = resuming instanceof Promise ? await resuming : resuming;
      const running = this.#begin(entered);
      let recovered: Choice | undefined;
      for (;;) {
        const choosing = recovered ?? this.#choose(running);
        const lease = choosing instanceof Promise ? await choosing : choosing;
        if (lease === 'gone') return this.#gone(turn);
        if (lease === 'none') return this.#tell(running);
        running.tried.add(lease.account.id);
        let at: AttemptOutcome | undefined;
        try {
          const attempted = await this.#attempt(lease, running, running.resent ? 'resend' : (running.failures.at(-1)?.cause ?? 'first'));
          at = asksForRenewal(attempted) ? await this.#renewed(attempted, lease, running) : attemptOutcome(attempted);
        } finally {
          lease.end(at?.result ?? 'neutral');
        }
        const { verdict, status } = at.attempted;
        if (verdict.kind === 'gone') return this.#gone(turn);
        if (verdict.kind === 'refused') throw verdict.refusal;
        if (verdict.kind === 'done') return undefined;
        recovered = await this.#goOn(running, { ...verdict, status, account: lease.account.id });
      }
    } finally {
      slot.release();
    }
  }

  #begin({ turn, work, client, slot, onGone }: Entered): Running {
    const demand = this.#options.selection.demand({ turn, body: work.body, slot, onGone });
    const budget = this.#budgets.get(turn.pool.id) ?? new RetryBudget();
    this.#budgets.set(turn.pool.id, budget);
    budget.turn(turn.now());
    this.#options.counters.add('turns');
    return { turn, work, sent: work, resent: false, closed: new Set(), client, demand, tried: new Set(), failures: [], budget };
  }

  /** After a failure: the lease that the turn goes on with, nothing where it is to look for one, or `none`. */
  async #goOn(running: Running, { failure, status, account }: Failed): Promise<Choice | undefined> {
    const { turn, failures, budget } = running;
    failures.push(failure);
    const recovered = await this.#recovering.next(running, failure, account);
    const again = recovered !== undefined || this.#mayRetry(running, failure, status);
    if (!again && !(await this.#rechecked(running, failure, status))) return 'none';
    budget.retry(turn.now());
    this.#options.counters.add('retries');
    return recovered;
  }

  /** `none` only after an attempt: its failure is what the client is told then. @throws Refusal before one */
  #choose({ demand, tried, failures }: Running): Choice | Promise<Choice> {
    const without = (thrown: unknown): 'none' => {
      if (failures.length === 0 || !(thrown instanceof Refusal)) throw thrown;
      return 'none';
    };
    try {
      const choosing = this.#options.selection.choose(demand, tried);
      return choosing instanceof Promise ? choosing.then((lease) => lease ?? 'gone', without) : choosing;
    } catch (thrown) {
      return without(thrown);
    }
  }

  /** The account refused its credential: one more attempt where that could be renewed (Q5). */
  async #renewed(attempted: Attempted, lease: Lease, running: Running): Promise<AttemptOutcome> {
    const { credentials } = this.#options;
    const { account } = lease;
    const refused = failureOf(attempted.verdict);
    const renewal = await credentials.refused(account, attempted.authorization);
    // Nobody knows yet whether the account must log in: its provider could not be asked.
    if (renewal === 'failed' && refused)
      return attemptOutcome({ ...attempted, verdict: { kind: 'failed', failure: { ...refused, cause: 'connect' } } });
    if (renewal !== 'renewed') return attemptOutcome(attempted);
    const again = await this.#attempt(lease, running, 'resend');
    // Renewed, and refused all the same: of no use, unless its operator has logged in anew meanwhile.
    const forgiven = failureOf(again.verdict)?.status === 401 && (await credentials.reimported(account));
    return forgiven ? { attempted: again, result: 'neutral' } : attemptOutcome(again);
  }

  #attempt(lease: Lease, running: Running, cause: AttemptCause): Promise<Attempted> {
    const { turn } = running;
    const { account } = lease;
    turn.account = account;
    const having = this.#options.credentials.headersFor(account, turn.generation.loaded);
    if (!(having instanceof Promise)) return this.#send(lease, running, cause, having);
    return having.catch(unavailable).then((own) => {
      if (!(own instanceof CredentialUnavailable)) return this.#send(lease, running, cause, own);
      const failure = unsentFailure(own.why);
      beginAttempt(turn, account, cause)({ status: undefined, failure });
      return { verdict: { kind: 'failed', failure }, status: undefined, authorization: undefined };
    });
  }

  #send(lease: Lease, running: Running, cause: AttemptCause, own: OwnHeaders): Promise<Attempted> {
    const { turn, client } = running;
    const { account } = lease;
    const { counters, ownHeaders, continuity, witnesses } = this.#options;
    running.sent = continuity.fit(running.work, turn, account.id);
    const request = compose({ turn, work: running.sent, account, own, trim: (out) => continuity.trim(out, turn) });
    const complete = beginAttempt(turn, account, cause);
    const evidence = witnesses.of({ turn, account });
    counters.add('attempts');
    if (lease.isProbe) counters.add('probes');
    return attempt({
      turn,
      client,
      counters,
      carrier: lease.upstream.carrier,
      request,
      retries: (failure) => this.#mayRetry(running, failure, failure.status) || this.#recovering.helps(running, failure, account.id),
      committed: () => {
        lease.answered();
        evidence.committed();
      },
      evidence,
      ownHeaders: ownHeaders(turn),
      ended: ({ verdict, status }) => {
        const failure = failureOf(verdict);
        complete({ status, failure });
        if (failure && verdict.kind !== 'failed') noteClass(turn, failure);
      },
    });
  }

  /** @param status the provider's, where one came */
  #mayRetry({ turn, demand, tried, budget }: Running, failure: Failure, status: number | undefined): boolean {
    const { selection, counters } = this.#options;
    if (!mayTryAnother(failure) || tried.size >= turn.pool.max_attempts) return false;
    // A compaction that a provider has begun may be done, and paid for.
    if (turn.route.kind === 'compact' && status !== undefined && status > 0 && status < 300) return false;
    if (!selection.another(demand, tried)) return false;
    if (budget.allows(turn.now())) return true;
    counters.add('retries_withheld');
    return false;
  }

  /** Before a turn is refused for want of quota, the accounts that only old word says are out are asked once more (Q8). */
  async #rechecked(running: Running, failure: Failure, status: number | undefined): Promise<boolean> {
    if (failure.cause !== 'quota' || running.demand.hard !== undefined) return false;
    const asking = this.#options.selection.recheck(running.demand, running.tried);
    if (!asking) return false;
    await asking;
    return this.#mayRetry(running, failure, status);
  }

  #tell({ turn, demand, failures }: Running): RelayedAnswer | undefined {
    const last = failures.at(-1) as Failure;
    const param = safeParam(last.error.param);
    if (param !== null) turn.note('upstream_error_param', param);
    noteClass(turn, last);
    // Of all accounts, not only of those that this turn has been to (Q3).
    const spent = last.cause === 'quota' && demand.hard === undefined ? this.#options.selection.refusal(demand) : undefined;
    if (spent?.code === 'usage_limit_reached') throw spent;
    const answer = told(failures, turn);
    if (answer instanceof Refusal) throw answer;
    return answer;
  }

  #gone(turn: LiveTurn): undefined {
    this.#options.counters.add('client_gone');
    turn.end({ outcome: { kind: 'client_gone', shown: false }, status: 499, code: null });
  }
}
