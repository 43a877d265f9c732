// The sums of usage: of a key's day, to which a request adds in the transaction that writes its rows, and of an hour.
import { DAY_MS } from './limit-rows.ts';
import type { LoggedRequest } from './logged-rows.ts';
import type { HourSums, UsageDayRow, UsageHourRow, UsagePoolHourRow, UsageRow } from './rows.ts';

export type UsageSums = { -readonly [Field in Exclude<keyof UsageRow, 'key_id' | 'pool' | 'day'>]: number };

/** What was added between two states of one row. */
export const usageBetween = (before: Readonly<UsageSums>, after: Readonly<UsageSums>): UsageSums => ({
  requests: after.requests - before.requests,
  unknown: after.unknown - before.unknown,
  input_tokens: after.input_tokens - before.input_tokens,
  cached_input_tokens: after.cached_input_tokens - before.cached_input_tokens,
  output_tokens: after.output_tokens - before.output_tokens,
  cost_nanos: after.cost_nanos - before.cost_nanos,
  held_tokens: after.held_tokens - before.held_tokens,
  held_nanos: after.held_nanos - before.held_nanos,
});

/** Adds sums. Written out field by field for speed: every turn runs it more than once. */
export function addUsageSums(sum: UsageSums, more: Readonly<UsageSums>): void {
  sum.requests += more.requests;
  sum.unknown += more.unknown;
  sum.input_tokens += more.input_tokens;
  sum.cached_input_tokens += more.cached_input_tokens;
  sum.output_tokens += more.output_tokens;
  sum.cost_nanos += more.cost_nanos;
  sum.held_tokens += more.held_tokens;
  sum.held_nanos += more.held_nanos;
}

export const HOUR_MS = 3_600_000;

/** @param used undefined if the request used nothing */
export function hourRowOf({ row }: LoggedRequest, used?: UsageRow): UsageHourRow {
  const { at, pool, account, model, status, outcome, duration_ms, first_event_ms } = row;
  return {
    hour: at - (at % HOUR_MS),
    pool: pool ?? '',
    account: account ?? '',
    model: model ?? '',
    requests: 1,
    failed: outcome === 'client_gone' || (status < 400 && (outcome === 'completed' || outcome === 'incomplete')) ? 0 : 1,
    unknown: used?.unknown ?? 0,
    input_tokens: used?.input_tokens ?? 0,
    cached_input_tokens: used?.cached_input_tokens ?? 0,
    output_tokens: used?.output_tokens ?? 0,
    cost_nanos: used?.cost_nanos ?? 0,
    duration_ms,
    first_events: first_event_ms === null ? 0 : 1,
    first_event_ms: first_event_ms ?? 0,
  };
}

/** The contribution of an hour row to the sums of its day. */
export const dayRowOf = ({ hour, ...row }: UsageHourRow): UsageDayRow => ({ day: hour - (hour % DAY_MS), ...row });

/** The contribution of an hour row to the sums of its Pool in that hour. */
export const poolHourRowOf = ({ account: _account, model: _model, ...row }: UsageHourRow): UsagePoolHourRow => row;

/** Adds sums. Written out field by field for speed. */
export function addHour(sum: { -readonly [Field in keyof HourSums]: number }, more: HourSums): void {
  sum.requests += more.requests;
  sum.failed += more.failed;
  sum.unknown += more.unknown;
  sum.input_tokens += more.input_tokens;
  sum.cached_input_tokens += more.cached_input_tokens;
  sum.output_tokens += more.output_tokens;
  sum.cost_nanos += more.cost_nanos;
  sum.duration_ms += more.duration_ms;
  sum.first_events += more.first_events;
  sum.first_event_ms += more.first_event_ms;
}
