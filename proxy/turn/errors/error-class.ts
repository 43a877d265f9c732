// How an attempt failed, for request rows: its class, which is of a closed list (ER4), and the place that its error names (RM3).
import type { Turn, UpstreamErrorClass } from '../turn.ts';
import type { Failure } from './failure.ts';
import { safeParam } from './sanitise.ts';

/** Undefined if the account is not at fault, because it refused a bad request inside a reply. */
export function errorClassOf({ cause, status, timedOut, sign }: Failure): UpstreamErrorClass | undefined {
  if (sign === 'adapted') return sign;
  switch (cause) {
    case 'request':
      return status === 200 ? undefined : 'upstream_status';
    case 'timeout':
      return 'upstream_timeout';
    case 'connect':
    case 'challenge_page':
      if (status !== undefined) return 'upstream_status';
      return timedOut ? 'upstream_timeout' : 'upstream_connect';
    case 'network':
      return timedOut ? 'upstream_timeout' : 'upstream_network';
    case 'malformed':
      return 'upstream_malformed';
    case 'rate':
    case 'quota':
      return 'upstream_rate_limited';
    default:
      return status === 200 ? 'upstream_refusal' : 'upstream_status';
  }
}

/** Notes in the turn's row how the turn failed: the class, and the place that the account's error names (RM3). */
export function noteFailure(turn: Turn, failure: Failure): void {
  const errorClass = errorClassOf(failure);
  if (errorClass) turn.note('error_class', errorClass);
  const param = safeParam(failure.error.param);
  if (param !== null) turn.note('upstream_error_param', param);
}
