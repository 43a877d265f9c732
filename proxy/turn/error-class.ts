// What class a failed attempt is of, in rows (ER4): a closed list, which carries no frame and no body.

import type { Failure } from './failure.ts';
import type { Turn, UpstreamErrorClass } from './turn.ts';

/** Undefined where the account did what it should: it refused a bad request inside a reply. */
export function errorClassOf({ cause, status, timedOut }: Failure): UpstreamErrorClass | undefined {
  switch (cause) {
    case 'request':
      return status === 200 ? undefined : 'upstream_status';
    case 'timeout':
      return 'upstream_timeout';
    case 'connect':
      if (status > 0) return 'upstream_status';
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

/** Keeps it in the turn's row. */
export function noteClass(turn: Turn, failure: Failure): void {
  const errorClass = errorClassOf(failure);
  if (errorClass) turn.note('error_class', errorClass);
}
