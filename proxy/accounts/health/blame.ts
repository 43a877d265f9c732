// What one failed attempt says of its account: how much of it is to blame, how soon, and for how long (Q5).
import type { Failure } from '../../turn/failure.ts';

/** Words that stand in rows and in what operators see. */
export type Cause = 'connect' | 'network' | 'timeout' | 'refused' | 'reauth' | 'quota' | 'rate' | 'server' | 'model' | 'malformed';

export interface Blame {
  readonly cause: Cause;
  /** The whole account, or the account for the turn's model. */
  readonly scope: 'account' | 'model';
  /** This many in a row open a cooldown. */
  readonly inARow: number;
  /** How long the provider said to stay away, in milliseconds; at least 1 s. */
  readonly statedMs: number | undefined;
}

const IN_A_ROW = 3;
const LEAST_MS = 1_000;
/** No window is longer; a provider that counts milliseconds where seconds are meant locks nobody out for ages. */
const LONGEST_MS = 31 * 86_400_000;

/** In-band codes that end a connection or a request and say nothing of the account. */
const NEUTRAL_CODES = new Set(['websocket_connection_limit_reached']);

/** Undefined where the account has no part in it: the request's own fault, or the provider's limit on one connection. */
export function blameOf(failure: Failure, now: number): Blame | undefined {
  if (failure.error.code !== null && NEUTRAL_CODES.has(failure.error.code)) return undefined;
  const statedMs = statedBy(failure, now);
  switch (failure.cause) {
    case 'request':
      return undefined;
    case 'connect':
      return { cause: 'connect', scope: 'account', inARow: 1, statedMs: undefined };
    case 'credential':
      return { cause: failure.status === 401 ? 'reauth' : 'refused', scope: 'account', inARow: 1, statedMs };
    case 'quota':
      return { cause: 'quota', scope: 'account', inARow: 1, statedMs };
    case 'rate':
      return { cause: 'rate', scope: 'model', inARow: 1, statedMs };
    case 'model':
      return { cause: 'model', scope: 'model', inARow: 1, statedMs: undefined };
    default:
      return { cause: failure.cause, scope: 'model', inARow: IN_A_ROW, statedMs };
  }
}

/** The stated reset before Retry-After. */
function statedBy({ resetsAt, retryAfterMs }: Failure, now: number): number | undefined {
  const ms = resetsAt === undefined ? retryAfterMs : resetsAt * 1000 - now;
  return ms === undefined ? undefined : Math.min(LONGEST_MS, Math.max(LEAST_MS, ms));
}
