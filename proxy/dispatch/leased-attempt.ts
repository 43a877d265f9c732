// An attempt of a turn at the account of its lease. It has a row in the log, and its failure may lead to another attempt.
import type { AccountLease } from '../accounts/selection/lease.ts';
import type { Clock } from '../base/time/clock.ts';
import { errorClassOf, noteFailure } from '../turn/errors/error-class.ts';
import { type Failure, type FailureCause, unsentFailure, untranslatedFailure } from '../turn/errors/failure.ts';
import { Refusal } from '../turn/errors/refusal.ts';
import { safeParam } from '../turn/errors/sanitise.ts';
import type { AdaptedName } from '../turn/provider/adapted.ts';
import { credentialHeader } from '../turn/provider/api-account.ts';
import type { HeldEvents, ReplySource } from '../turn/reply/reply-observer.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { UpstreamErrorClass } from '../turn/turn.ts';
import { type AccountHeaders, asUnavailable, CredentialUnavailable } from '../upstream/account-credentials.ts';
import type { CarrierRequest } from '../upstream/carriers/carrier.ts';
import { Attempt } from './attempt.ts';
import type { DispatchServices } from './dispatch-services.ts';
import type { Attempted, ReplyContext } from './reply/reply-context.ts';
import { type Composed, composeFor } from './request/compose.ts';
import type { OpenRow, TurnProgress } from './retries/turn-progress.ts';

/**
 * `first`: the first attempt. `resend`: the same request again, with a renewed credential or without reasoning. Otherwise the failure of
 * the attempt before.
 */
export type AttemptCause = 'first' | 'resend' | FailureCause;

/** @throws Refusal if the turn cannot be sent to this account in any form */
export function attemptAt(
  lease: AccountLease,
  cause: AttemptCause,
  progress: TurnProgress,
  services: DispatchServices,
): Promise<Attempted> {
  const { account } = lease;
  progress.account = account;
  progress.bearer = lease.bearer;
  const own = services.credentials.headersFor(account, lease.bearer);
  if (!(own instanceof Promise)) return sendAt(lease, cause, own, progress, services);
  return own.catch(asUnavailable).then((known) => {
    if (!(known instanceof CredentialUnavailable)) return sendAt(lease, cause, known, progress, services);
    return unsent(progress, account, cause, unsentFailure(known.why));
  });
}

/** @param own the headers of the account */
function sendAt(
  lease: AccountLease,
  cause: AttemptCause,
  own: AccountHeaders,
  progress: TurnProgress,
  services: DispatchServices,
): Promise<Attempted> {
  const { account } = lease;
  let composed: Composed;
  try {
    composed = composeFor(progress, lease, own, services);
  } catch (thrown) {
    // The encoding found something that eligibility should have excluded (AA46).
    if (thrown instanceof Refusal || lease.provider.name === 'agent') throw thrown;
    progress.turn.fault(thrown);
    return Promise.resolve(unsent(progress, account, cause, untranslatedFailure()));
  }
  const { request, slot } = composed;
  progress.carry(request.headers[credentialHeader(account)]);
  progress.carry(slot?.authorization);
  const attempt = new LeasedAttempt(lease, cause, composed, progress, services);
  if (isWritten(request)) return attempt.run(request);
  // A large body is written in parts.
  return Promise.resolve(request.body).then((body) => attempt.run({ ...request, body }));
}

/** An attempt that failed before anything was sent. */
function unsent(progress: TurnProgress, account: AccountConfig, cause: AttemptCause, failure: Failure): Attempted {
  complete(openRow(progress, account, cause), { status: undefined, failure, ms: 0 });
  const nothing = { status: undefined, authorization: undefined, over: 'http', path: '', reused: false } as const;
  return { verdict: { kind: 'failed', failure }, ...nothing, isAdjusted: false };
}

class LeasedAttempt extends Attempt {
  readonly #lease: AccountLease;
  readonly #cause: AttemptCause;
  readonly #composed: Composed;
  readonly #progress: TurnProgress;
  readonly #services: DispatchServices;
  /** Undefined until the request is sent. */
  #row: OpenRow | undefined;
  #began = 0;
  /** The last failure, and whether the API then writes the turn in another way. Each failure is evaluated once. */
  #judged: Failure | undefined;
  #isAdjusting = false;
  /** Aborts the follow-up when the attempt ends, because the client has left. */
  #following: AbortController | undefined;

  constructor(lease: AccountLease, cause: AttemptCause, composed: Composed, progress: TurnProgress, services: DispatchServices) {
    super(progress, lease, composed, services.observers.of(sourceOf(lease, composed, progress)));
    this.#lease = lease;
    this.#cause = cause;
    this.#composed = composed;
    this.#progress = progress;
    this.#services = services;
  }

  override get followUp(): ReplyContext['followUp'] {
    const { turn, account, provider, upstream } = this;
    const { work } = this.#progress;
    const followUp = turn.route.kind && this.#services.followUps[turn.route.kind];
    if (!followUp || !work) return undefined;
    return (answer) => {
      this.#following = new AbortController();
      return followUp({ turn, account, provider, upstream, work, answer, signal: this.#following.signal });
    };
  }

  override keepsBack(failure: Failure): boolean {
    return this.adjusts(failure) || this.#services.steps.keepsBack(this.#progress, failure, this.account.id);
  }

  override committed(head?: HeldEvents): void {
    this.#lease.answered();
    this.turn.committedAt ??= this.turn.now();
    this.observers.committed(head);
  }

  protected override begins(): void {
    const { counters, turn } = this;
    this.#progress.wasSent = true;
    this.#row = openRow(this.#progress, this.account, this.#cause, this.#composed.adapted);
    this.#began = turn.now();
    counters.add('attempts');
    if (this.#lease.isProbe) counters.add('probes');
  }

  protected override adjusts(failure: Failure): boolean {
    const { adjusts } = this.#composed.request;
    if (!adjusts || this.#cause === 'resend') return false;
    if (this.#judged !== failure) this.#isAdjusting = adjusts(failure);
    this.#judged = failure;
    return this.#isAdjusting;
  }

  protected override ended({ verdict, status }: Attempted): void {
    const { kind, failure } = verdict;
    const errorClass = verdict.kind === 'refused' ? verdict.errorClass : undefined;
    this.#following?.abort();
    if (this.#row) complete(this.#row, { status, failure, errorClass, ms: this.turn.now() - this.#began });
    if (failure && kind !== 'failed') noteFailure(this.turn, failure);
    if (errorClass) this.turn.note('error_class', errorClass);
  }
}

const isWritten = (request: Composed['request']): request is CarrierRequest => !(request.body instanceof Promise);

function sourceOf({ account }: AccountLease, { composition, slot }: Composed, { turn, continuation, sentBody }: TurnProgress): ReplySource {
  const { provider } = composition;
  const keepResponse: ReplySource['keepResponse'] =
    slot && ((id, pin) => slot.keepResponse({ id, mode: turn.model?.mode?.effective, lifted: turn.lifted, pin }));
  const isUnstored = provider.isUnstored === true || sentBody.store === false;
  return { turn, account, provider, continuation, keepResponse, isUnstored };
}

/** Adds the row of an attempt. It is made before the attempt ends, so that it exists if the turn ends during the attempt. */
export function openRow(
  { rows, turn }: { readonly rows: OpenRow[]; readonly turn: Pick<Clock, 'wallTime'> & { readonly id: string } },
  { label, api }: Pick<AccountConfig, 'label' | 'api'>,
  cause: AttemptCause,
  adapted: readonly AdaptedName[] = [],
): OpenRow {
  const row: OpenRow = {
    request_id: turn.id,
    ordinal: rows.length,
    at: turn.wallTime(),
    account: label,
    api,
    adapted: adapted.length > 0 ? adapted.join(',') : null,
    cause,
    status: null,
    error_class: null,
    duration_ms: 0,
    upstream_error_param: null,
  };
  rows.push(row);
  return row;
}

export interface AttemptEnd extends Pick<Attempted, 'status'> {
  readonly failure: Failure | undefined;
  /** The class of an answer that is not valid, although the account did not fail. */
  readonly errorClass?: UpstreamErrorClass | undefined;
  /** How long the attempt took. */
  readonly ms: number;
}

export function complete(row: OpenRow, { status, failure, errorClass, ms }: AttemptEnd): void {
  row.status = status ?? null;
  row.error_class = errorClass ?? (failure && errorClassOf(failure)) ?? null;
  row.duration_ms = ms;
  row.upstream_error_param = failure ? safeParam(failure.error.param) : null;
}
