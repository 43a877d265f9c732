// The attempt of a request that its first account answered. It is derived from the request's row instead of being stored.
import type { TableRow } from '../writing/write-queue.ts';
import type { AttemptRow, LoggedRequest, RequestRow } from './logged-rows.ts';
import { attempts, requests } from './tables.ts';

/** The most time that the gateway itself needs before and after an attempt. An attempt that started later had to wait, and is stored. */
const TOLERANCE_MS = 10;

const SUCCESS = { ordinal: 0, cause: 'first', error_class: null, upstream_error_param: null } as const;

/** Whether the attempt can be derived from the request's row. An attempt of a failed or retried request is never derived, even if its row was lost. */
export const succeededAtOnce = ({ account, retries, status, outcome }: RequestRow): boolean =>
  account !== null && retries === 0 && status < 300 && outcome === 'completed';

/** Whether these attempts can be derived from their request's row. */
export function isDerivable(request: RequestRow, attempts: readonly AttemptRow[]): boolean {
  const [attempt] = attempts;
  if (!attempt || attempts.length > 1 || !succeededAtOnce(request)) return false;
  const before = attempt.at - request.at;
  const after = request.at + request.duration_ms - (attempt.at + attempt.duration_ms);
  return (
    attempt.account === request.account &&
    attempt.api === request.api &&
    attempt.adapted === request.adapted &&
    attempt.cause === SUCCESS.cause &&
    attempt.status === request.status &&
    attempt.error_class === SUCCESS.error_class &&
    attempt.upstream_error_param === SUCCESS.upstream_error_param &&
    before < TOLERANCE_MS &&
    after < TOLERANCE_MS
  );
}

/** The rows of a request as they are stored. */
export const logRowsOf = ({ row, attempts: made }: LoggedRequest): readonly TableRow[] => [
  [requests, row],
  ...(isDerivable(row, made) ? [] : made.map((attempt): TableRow => [attempts, attempt])),
];

/** The attempt of a request that succeeded at once. */
export function derivedAttempt({ id, at, account, api, adapted, status, duration_ms }: RequestRow): AttemptRow {
  return { request_id: id, at, account: account ?? '', api: api ?? 'agent', adapted, status, duration_ms, ...SUCCESS };
}
