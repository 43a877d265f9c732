// How long an API account asks clients to wait, in all forms in which its servers state it (AA61, AA62).
import { retryAfterMs } from '../../../turn/errors/error-statement.ts';
import type { FailureCause } from '../../../turn/errors/failure.ts';
import type { SentMembers } from '../../../turn/provider/provider-failures.ts';
import { LONGEST_RATE_MS, rateReset } from '../../../turn/provider/quota-statement.ts';
import type { Headers } from '../../../turn/turn.ts';
import { rateLimits } from '../rate-headers.ts';

/** Maps a member that the account names to its place in the Responses request. Null for a member that the client did not write. */
export type PlaceOf = (param: string, sent: SentMembers | undefined) => string | null;

/** The longest wait that is believed. A date in the past is ignored. */
const LONGEST_WAIT_MS = 30 * 86_400_000;

/** The wait in milliseconds; undefined if none is stated, or an impossible one. @param now Unix milliseconds */
export function statedBackoff(cause: FailureCause, headers: Headers, now: number): number | undefined {
  const seconds = retryAfterMs(headers['retry-after'], now);
  const ms =
    seconds || millisecondsIn(headers['retry-after-ms']) || (cause === 'rate' ? rateReset(rateLimits(headers, now) ?? [], now) : undefined);
  if (ms === undefined || ms > LONGEST_WAIT_MS) return undefined;
  return cause === 'rate' ? Math.min(ms, LONGEST_RATE_MS) : ms;
}

const millisecondsIn = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d{1,12}(?:\.\d{1,9})?$/.test(value) && Number(value) > 0 ? Math.ceil(Number(value)) : undefined;
