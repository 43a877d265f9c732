// The attempt of a turn that its first account answered: nearly every turn has just that one, and its request row says it all.
import type { AttemptRow, RequestRow } from './rows.ts';

/** What the gateway itself takes before and after an attempt; one that began later had waited, and keeps its row. */
const SAME_MS = 10;

const FINE = { ordinal: 0, cause: 'first', error_class: null, upstream_error_param: null } as const;

/** Whether these attempts can be made up again from their request's row. */
export function saysTheSame(request: RequestRow, attempts: readonly AttemptRow[]): boolean {
  const [only] = attempts;
  if (!only || attempts.length > 1) return false;
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

/** @param account the label that the request's row has */
export function onlyAttempt({ id, at, status, duration_ms }: RequestRow, account: string): AttemptRow {
  return { request_id: id, at, account, status, duration_ms, ...FINE };
}
