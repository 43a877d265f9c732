// Pass-through rows: the body unread in both directions, one account after another, metadata alone in the log (B1, C5).
import type { IncomingMessage } from 'node:http';
import type { AttemptResult } from '../../accounts/health/account-health.ts';
import type { Lease } from '../../accounts/selection/lease.ts';
import type { Selection } from '../../accounts/selection/selection.ts';
import type { Admission, Slot } from '../../admission/admission.ts';
import { type AttemptCause, beginAttempt } from '../../dispatch/attempt-row.ts';
import { told } from '../../dispatch/client-error.ts';
import { CredentialUnavailable, type Renewing, unavailable } from '../../dispatch/renewal.ts';
import { RetryBudget } from '../../dispatch/retry-budget.ts';
import type { Counters } from '../../metrics.ts';
import type { Continuity } from '../../sessions/continuity.ts';
import { noteClass } from '../../turn/error-class.ts';
import { type Failure, mayTryAnother, unsentFailure } from '../../turn/failure.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import { Refusal } from '../../turn/refusal.ts';
import { safeParam } from '../../turn/sanitise.ts';
import { admitted, onceGone } from './admitted.ts';
import { askForBody } from './expect-continue.ts';
import { forwardAttempt, type Passed } from './forward-attempt.ts';
import { isSdpOnly } from './forward-headers.ts';
import type { Answer, Exchange, Handler } from './http-turn.ts';
import { type BodyBounds, type MeteredBody, meteredBody } from './streamed-body.ts';

export interface ForwardOptions {
  readonly admission: Admission;
  readonly selection: Selection;
  readonly credentials: Renewing;
  readonly continuity: Continuity;
  readonly counters: Counters;
}

const SDP = 'application/sdp';
const BODYLESS: ReadonlySet<string | undefined> = new Set(['GET', 'DELETE']);

/** What the headers say against a body is told before anything else; its slot and its account come before it is read (Q4). */
export function forwarding(options: ForwardOptions): Handler {
  const budgets = new Map<string, RetryBudget>();
  const serve = admitted(options.admission, (exchange, slot) => {
    const { id } = exchange.turn.pool;
    const budget = budgets.get(id) ?? new RetryBudget();
    budgets.set(id, budget);
    return new Forwarding(options, exchange, slot, budget).run();
  });
  return (exchange) => {
    const { turn, request } = exchange;
    if (isSdpOnly(turn) && mediaType(request) !== SDP) throw new Refusal('unsupported_media_type');
    if (Number(request.headers['content-length'] ?? 0) > boundsOf(turn, request).bytes) {
      options.counters.add('bodies_too_large');
      throw new Refusal('request_too_large');
    }
    return serve(exchange);
  };
}

/** One request on its way. */
class Forwarding {
  readonly #options: ForwardOptions;
  readonly #exchange: Exchange;
  readonly #slot: Slot;
  readonly #budget: RetryBudget;
  readonly #tried = new Set<string>();
  readonly #failures: Failure[] = [];
  #body: MeteredBody | undefined;

  constructor(options: ForwardOptions, exchange: Exchange, slot: Slot, budget: RetryBudget) {
    this.#options = options;
    this.#exchange = exchange;
    this.#slot = slot;
    this.#budget = budget;
  }

  async run(): Promise<Answer | undefined> {
    const { selection, continuity, counters } = this.#options;
    const { turn, response } = this.#exchange;
    turn.continuation = await continuity.resume(turn, undefined);
    const demand = selection.demand({ turn, body: undefined, slot: this.#slot, onGone: (aborted) => onceGone(response, aborted) });
    this.#budget.turn(turn.now());
    for (;;) {
      const lease = await selection.choose(demand, this.#tried);
      if (!lease) return this.#gone();
      this.#tried.add(lease.account.id);
      const passed = await this.#at(lease);
      if (passed.kind === 'answered') return undefined;
      // What was told in `relay` stays told.
      if (passed.kind === 'gone') return this.#gone();
      this.#failures.push(passed.failure);
      const retries = this.#mayRetry(passed.failure) && selection.hasCandidate(demand, this.#tried);
      if (!retries) return answerOf(this.#failures, turn);
      this.#budget.retry(turn.now());
      counters.add('retries');
    }
  }

  /** At one account: an attempt, and one more where its credential could be renewed and no body went out (Q5). */
  async #at(lease: Lease): Promise<Passed> {
    let result: AttemptResult = 'neutral';
    try {
      let passed = await this.#attempt(lease, this.#failures.at(-1)?.cause ?? 'first');
      if (passed.kind === 'failed' && passed.authorization !== undefined && passed.failure.status === 401) {
        const { failure, authorization } = passed;
        const renewal = await this.#options.credentials.refused(lease.account, authorization);
        if (renewal === 'renewed') {
          // The credential was at fault, and is not any more.
          if (this.#body) return passed;
          passed = await this.#attempt(lease, 'resend');
        } else if (renewal === 'failed') passed = { ...passed, failure: { ...failure, cause: 'connect' } };
      }
      result = resultOf(passed);
      return passed;
    } finally {
      lease.end(result);
    }
  }

  async #attempt(lease: Lease, cause: AttemptCause): Promise<Passed> {
    const exchange = this.#exchange;
    const { turn, request, response } = exchange;
    const { counters, continuity, credentials } = this.#options;
    turn.account = lease.account;
    // Had before the body is asked for, which can go out but once.
    const having = credentials.headersFor(lease.account, turn.generation.loaded);
    const own = having instanceof Promise ? await having.catch(unavailable) : having;
    if (own instanceof CredentialUnavailable) {
      const failure = unsentFailure(own.why);
      beginAttempt(turn, lease.account, cause)({ status: undefined, failure });
      return { kind: 'failed', failure, authorization: undefined };
    }
    if (!BODYLESS.has(request.method)) {
      askForBody(request, response);
      this.#body = meteredBody(request, boundsOf(turn, request));
    }
    counters.add('attempts');
    if (lease.isProbe) counters.add('probes');
    const complete = beginAttempt(turn, lease.account, cause);
    let passed: Passed | undefined;
    try {
      passed = await forwardAttempt({ exchange, lease, own, continuity, body: this.#body, counters });
      return passed;
    } finally {
      complete({ status: passed?.status, failure: passed && 'failure' in passed ? passed.failure : undefined });
    }
  }

  #mayRetry(failure: Failure): boolean {
    const { turn } = this.#exchange;
    // A body that went out cannot be sent again.
    if (this.#body || !mayTryAnother(failure) || this.#tried.size >= turn.pool.max_attempts) return false;
    if (this.#budget.allows(turn.now())) return true;
    this.#options.counters.add('retries_withheld');
    return false;
  }

  #gone(): undefined {
    this.#options.counters.add('client_gone');
    this.#exchange.turn.end({ outcome: { kind: 'client_gone', shown: false }, status: 499, code: null });
  }
}

function boundsOf({ generation }: LiveTurn, { headers }: IncomingMessage): BodyBounds {
  const { limits, timeouts } = generation.config;
  // Unread, and so never decoded: a compressed body is bounded as it comes.
  const coded = (headers['content-encoding'] ?? 'identity') !== 'identity';
  return { bytes: coded ? limits.compressed_body_bytes : limits.request_body_bytes, idleMs: timeouts.client_body_idle_ms };
}

/** A client that leaves says nothing of the account. */
function resultOf(passed: Passed): AttemptResult {
  if (passed.kind === 'gone') return 'neutral';
  return passed.failure ?? 'completed';
}

function answerOf(failures: readonly Failure[], turn: LiveTurn): Answer {
  const last = failures.at(-1) as Failure;
  const param = safeParam(last.error.param);
  noteClass(turn, last);
  if (param !== null) turn.note('upstream_error_param', param);
  const answer = told(failures, turn);
  if (answer instanceof Refusal) throw answer;
  return answer;
}

const mediaType = (request: IncomingMessage): string => request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
