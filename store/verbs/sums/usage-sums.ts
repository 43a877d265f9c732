// The sums of a usage row, and how one row's sums are added to another's.
import type { UsageRow } from '../../schema/rows.ts';

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
export function addUsage(sum: UsageSums, more: Readonly<UsageSums>): void {
  sum.requests += more.requests;
  sum.unknown += more.unknown;
  sum.input_tokens += more.input_tokens;
  sum.cached_input_tokens += more.cached_input_tokens;
  sum.output_tokens += more.output_tokens;
  sum.cost_nanos += more.cost_nanos;
  sum.held_tokens += more.held_tokens;
  sum.held_nanos += more.held_nanos;
}
