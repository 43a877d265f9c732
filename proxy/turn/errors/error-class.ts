// The class of a failed attempt in request rows (ER4): a closed list, which contains no frame and no body.
import type { Turn, UpstreamErrorClass } from '../turn.ts';
import type { Failure } from './failure.ts';

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

/** Notes the class in the turn's row. */
export function noteErrorClass(turn: Turn, failure: Failure): void {
  const errorClass = errorClassOf(failure);
  if (errorClass) turn.note('error_class', errorClass);
}
