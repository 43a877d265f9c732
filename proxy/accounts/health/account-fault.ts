// Maps a failed attempt to the account's fault: its scope, the failures needed for a cooldown, and the stated wait (Q5).
import { type Failure, needsLogin } from '../../turn/errors/failure.ts';

/** The cause of a cooldown, as stored in rows and shown in /api/status. */
export type Cause =
  | 'connect'
  | 'network'
  | 'timeout'
  | 'refused'
  | 'reauth'
  | 'quota'
  | 'rate'
  | 'server'
  | 'model'
  | 'challenge_page'
  | 'wrong_api'
  | 'malformed';

export interface AccountFault {
  readonly cause: Cause;
  /** What the fault affects: the whole account, the account for the turn's model, or the account for all turns on the same path. */
  readonly scope: 'account' | 'model' | 'path';
  /** The number of consecutive failures that open a cooldown. */
  readonly threshold: number;
  /** The wait that the provider stated, in milliseconds; at least 1 s. */
  readonly statedMs: number | undefined;
  /** The waits if the provider stated none; they replace the usual ones. */
  readonly backoff?: Failure['backoff'];
  /** Set if the stated wait is the whole wait, after which no probe is needed. */
  readonly pauses?: true;
}

const THRESHOLD = 3;
const SHORTEST_MS = 1_000;
/**
 * The longest stated wait that is accepted, because no quota window is longer. It limits the harm of a provider that states milliseconds as
 * seconds.
 */
const LONGEST_MS = 31 * 86_400_000;

/** In-band codes that end a connection or a request and are not a fault of the account. */
const NEUTRAL_CODES = new Set(['websocket_connection_limit_reached']);

/** The fault of the account; undefined if the request or the provider's limit on one connection is the cause. */
export function accountFault(failure: Failure, now: number): AccountFault | undefined {
  if (failure.error.code !== null && NEUTRAL_CODES.has(failure.error.code)) return undefined;
  const statedMs = statedWait(failure, now);
  switch (failure.cause) {
    case 'request':
      return undefined;
    case 'connect':
      return { cause: 'connect', scope: 'account', threshold: 1, statedMs: undefined };
    case 'credential':
      return { cause: needsLogin(failure) ? 'reauth' : 'refused', scope: 'account', threshold: 1, statedMs };
    case 'quota':
      return { cause: 'quota', scope: 'account', threshold: 1, statedMs, ...(failure.backoff && { backoff: failure.backoff }) };
    case 'rate':
      return { cause: 'rate', scope: 'model', threshold: 1, statedMs };
    case 'model':
      return { cause: 'model', scope: 'model', threshold: 1, statedMs: undefined };
    case 'challenge_page':
      return { cause: 'challenge_page', scope: 'path', threshold: 1, statedMs };
    default:
      if (failure.pauses) return { cause: failure.cause, scope: 'model', threshold: 1, statedMs, pauses: true };
      return { cause: failure.cause, scope: 'model', threshold: THRESHOLD, statedMs };
  }
}

/** The wait that the provider stated. A stated reset takes precedence over Retry-After. */
function statedWait({ resetsAt, retryAfterMs }: Failure, now: number): number | undefined {
  const ms = resetsAt === undefined ? retryAfterMs : resetsAt * 1000 - now;
  return ms === undefined ? undefined : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms));
}

/** The number of consecutive models or paths that an account does not have after which its address counts as wrong (AA61). */
export const WRONG_SCOPES = 3;

/** The fault of an account none of whose models and paths answers: its address may not be that of the API. */
export const WRONG_API: AccountFault = { cause: 'wrong_api', scope: 'account', threshold: 1, statedMs: 300_000, pauses: true };
