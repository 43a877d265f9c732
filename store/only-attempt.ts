// The attempt of a turn that its first account answered: nearly every turn has just that one, and its request row says it all.
import type { AttemptRow, RequestRow } from './rows.ts';

/** What the gateway itself takes before and after an attempt; one that began later had waited, and keeps its row. */
const SAME_MS = 10;

/** Whether these attempts can be made up again from their request's row. */
export function saysTheSame(request: RequestRow, attempts: readonly AttemptRow[]): boolean {
  const [only, ...more] = attempts;
  if (!only || more.length > 0) return false;
  const { at, duration_ms, ...said } = onlyAttempt(request, only.account);
  const ends = at + duration_ms - (only.at + only.duration_ms);
  return (
    request.account === only.account &&
    said.cause === only.cause &&
    said.status === only.status &&
    said.error_class === only.error_class &&
    said.upstream_error_param === only.upstream_error_param &&
    only.at - at < SAME_MS &&
    ends < SAME_MS
  );
}

/** @param account the label that the request's row has */
export function onlyAttempt({ id, at, status, duration_ms }: RequestRow, account: string): AttemptRow {
  const fine = { ordinal: 0, cause: 'first', error_class: null, upstream_error_param: null } as const;
  return { request_id: id, at, account, status, duration_ms, ...fine };
}
