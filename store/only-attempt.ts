// The attempt of a turn that its first account answered: nearly every turn has just that one, and its request row says it all.
import type { AttemptRow, RequestRow } from './rows.ts';

/** What the gateway itself takes before and after an attempt; one that began later had waited, and keeps its row. */
const SAME_MS = 10;

const FINE = { ordinal: 0, cause: 'first', error_class: null, upstream_error_param: null } as const;

/** Whether a request went so well that its row may stand for its attempt: of any other nothing is made up, whatever became of its rows. */
export const wentWell = ({ account, retries, status, outcome }: RequestRow): boolean =>
  account !== null && retries === 0 && status < 300 && outcome === 'completed';

/** Whether these attempts can be made up again from their request's row. */
export function saysTheSame(request: RequestRow, attempts: readonly AttemptRow[]): boolean {
  const [only] = attempts;
  if (!only || attempts.length > 1 || !wentWell(request)) return false;
  const late = only.at - request.at;
  const early = request.at + request.duration_ms - (only.at + only.duration_ms);
  return (
    only.account === request.account &&
    only.cause === FINE.cause &&
    only.status === request.status &&
    only.error_class === FINE.error_class &&
    only.upstream_error_param === FINE.upstream_error_param &&
    late < SAME_MS &&
    early < SAME_MS
  );
}

/** Of a request that went well. */
export function onlyAttempt({ id, at, account, status, duration_ms }: RequestRow): AttemptRow {
  return { request_id: id, at, account: account ?? '', status, duration_ms, ...FINE };
}
