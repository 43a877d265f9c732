// Classifies errors of the connection to an account, whichever library reports them.
import type { CarrierFailure } from '../../turn/errors/failure.ts';
import { NO_TUNNEL } from '../egress/route.ts';

/** Errors before the connection is established. The request was not sent, so it may be sent elsewhere. */
const CONNECT_ERRORS: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  NO_TUNNEL,
]);

/** Errors for a connection that took too long; the second name is http-proxy-3's own. */
const CONNECT_TIMEOUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ECONNECT_TIMEOUT']);

export function connectionFailure({ code = '', syscall }: NodeJS.ErrnoException): CarrierFailure {
  if (CONNECT_ERRORS.has(code)) return 'connect';
  if (CONNECT_TIMEOUTS.has(code) || (code === 'ETIMEDOUT' && syscall === 'connect')) return 'connect_timeout';
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') return 'malformed';
  return 'network';
}
