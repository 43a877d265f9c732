// The sums of a usage row, and how one row's sums are added to another's.
import type { UsageRow } from './rows.ts';

export type UsageSums = { -readonly [Field in Exclude<keyof UsageRow, 'key_id' | 'pool' | 'day'>]: number };

/** Written out for speed: every turn runs it more than once. */
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
