// What counts against each bound of a key (Q19). Both engines derive their checks from it. PostgreSQL's check is part of the first schema:
// after a release, a change here needs a further migration step.
import type { LimitBounds } from './limit-rows.ts';

/** The sums of a key's use: of running turns (`running`, `held_…`), of the last minute, of the day, of seven days and of the month. */
export type UsedSum =
  | 'running'
  | 'held_tokens'
  | 'held_nanos'
  | 'minute_requests'
  | 'minute_tokens'
  | 'day_requests'
  | 'day_tokens'
  | 'day_nanos'
  | 'week_tokens'
  | 'week_nanos'
  | 'month_nanos';

interface Bound {
  readonly name: keyof LimitBounds;
  /** The sums that count against the bound, added up. */
  readonly counts: readonly UsedSum[];
  /** What a turn adds to them. */
  readonly adds: 'request' | 'tokens' | 'nanos';
}

export const BOUNDS: readonly Bound[] = [
  { name: 'concurrent', counts: ['running'], adds: 'request' },
  { name: 'requests_per_minute', counts: ['minute_requests'], adds: 'request' },
  { name: 'requests_per_day', counts: ['day_requests', 'running'], adds: 'request' },
  { name: 'tokens_per_minute', counts: ['minute_tokens', 'held_tokens'], adds: 'tokens' },
  { name: 'tokens_per_day', counts: ['day_tokens', 'held_tokens'], adds: 'tokens' },
  { name: 'tokens_per_week', counts: ['week_tokens', 'held_tokens'], adds: 'tokens' },
  { name: 'nanos_per_day', counts: ['day_nanos', 'held_nanos'], adds: 'nanos' },
  { name: 'nanos_per_week', counts: ['week_nanos', 'held_nanos'], adds: 'nanos' },
  { name: 'nanos_per_month', counts: ['month_nanos', 'held_nanos'], adds: 'nanos' },
];
