// What the client is told when no account gave an answer (Q3).

import { type Failure, loggedCode } from '../turn/failure.ts';
import { nativeAnswerHeaders } from '../turn/headers.ts';
import type { Json } from '../turn/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { Refusal, RelayedRefusal } from '../turn/refusal.ts';
import { type Confidential, jsonWithoutOwner, publicError, withoutOwner } from '../turn/sanitise.ts';

/** A provider's own refusal, as a native client may see it. */
export interface RelayedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What the row keeps of its code. */
  readonly code: string;
}

/** Statuses of a provider that mean the same on the compatible surface. */
const SHARED_STATUSES = new Set([400, 404, 409, 413, 422]);

/** @param failures of this turn, in order; at least one */
export function told(failures: readonly Failure[], turn: LiveTurn): Refusal | RelayedAnswer {
  const last = failures.at(-1) as Failure;
  // Asked in any case: the row gets its class from here (ER4). What came inside a 200 is no refusal by status.
  const own = last.status >= 400 ? turn.rules.refused({ status: last.status, code: last.error.code, param: last.error.param }) : undefined;
  if (failures.every((failure) => failure.cause === 'quota')) return usageLimit(failures, turn);
  if (own) return own;
  switch (last.cause) {
    case 'timeout':
      return new Refusal('upstream_timeout');
    case 'connect':
      return new Refusal(last.timedOut ? 'upstream_timeout' : 'upstream_error');
    case 'network':
    case 'malformed':
    case 'credential':
      return new Refusal('upstream_error');
    default:
      return turn.native && last.answer ? relayed(last, last.answer, turn) : onCompatibleSurface(last, turn);
  }
}

function usageLimit(failures: readonly Failure[], turn: LiveTurn): Refusal {
  const resets = failures.flatMap(({ resetsAt }) => (resetsAt === undefined ? [] : [resetsAt]));
  const resetsAt = resets.length > 0 ? Math.min(...resets) : undefined;
  return new Refusal('usage_limit_reached', resetsAt === undefined ? {} : { resetsAt, retryAfterMs: resetsAt * 1000 - turn.now() });
}

function relayed(failure: Failure, answer: NonNullable<Failure['answer']>, turn: LiveTurn): RelayedAnswer | Refusal {
  // A 402 blames the account, and a redirect would name another host: neither is an answer for a client.
  if (failure.status === 402 || failure.status < 400) return new Refusal('upstream_error');
  const headers = nativeAnswerHeaders(answer.headers, turn.wire, turn.pool.hide_account_quota ? 'hide-quota' : 'show-quota');
  turn.rules.head({ status: failure.status, headers });
  const text = answer.body.toString('utf8');
  let body: string;
  try {
    body = JSON.stringify(jsonWithoutOwner(JSON.parse(text) as Json, turn.secrets()));
  } catch {
    body = withoutOwner(text, turn.secrets());
  }
  return { status: failure.status, headers, body, code: loggedCode(failure.error.code) };
}

function onCompatibleSurface(failure: Failure, known: Confidential): Refusal {
  const { status, error, cause } = failure;
  // A refusal inside a 200 blames the request, or it is a failed reply like any other (Q3).
  if (status !== 200 && (cause === 'rate' || cause === 'quota')) {
    return new Refusal('rate_limit_exceeded', {
      message: 'The provider limits the rate of this request.',
      ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }),
    });
  }
  const shared = status === 200 ? (cause === 'request' ? 400 : undefined) : SHARED_STATUSES.has(status) ? status : undefined;
  if (shared === undefined || (error.message === null && error.code === null)) return new Refusal('upstream_error');
  const shown = { ...publicError(error, known), type: 'invalid_request_error' };
  return new RelayedRefusal(shared, shown, loggedCode(error.code));
}
