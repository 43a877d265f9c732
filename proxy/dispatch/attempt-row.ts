// The row of one attempt: it stands before the attempt ends, so that a turn which ends inside it is recorded with it.
import type { AttemptRow } from '../../store/rows.ts';
import { errorClassOf } from '../turn/error-class.ts';
import type { Failure, FailureCause } from '../turn/failure.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import { safeParam } from '../turn/sanitise.ts';
import type { AccountConfig } from '../turn/settings.ts';

/** Why it is made: the turn's first, the same request again under a renewed credential, or the failure before it. */
export type AttemptCause = 'first' | 'resend' | FailureCause;

export interface AttemptEnd {
  /** The provider's, where one came. */
  readonly status: number | undefined;
  readonly failure: Failure | undefined;
}

/** @returns what completes the row */
export function beginAttempt(turn: LiveTurn, account: AccountConfig, cause: AttemptCause): (end: AttemptEnd) => void {
  const at = turn.now();
  const open: AttemptRow = {
    request_id: turn.id,
    ordinal: turn.attempts.length,
    at,
    account: account.label,
    cause,
    status: null,
    error_class: null,
    duration_ms: 0,
    upstream_error_param: null,
  };
  const slot = turn.attempts.push(open) - 1;
  return ({ status, failure }) => {
    turn.attempts[slot] = {
      ...open,
      status: status ?? null,
      error_class: (failure && errorClassOf(failure)) ?? null,
      duration_ms: turn.now() - at,
      upstream_error_param: failure ? safeParam(failure.error.param) : null,
    };
  };
}
