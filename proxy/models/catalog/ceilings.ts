// The ceilings that an entry states. Cohorts are grouped by them, and context windows are derived from them.
import type { Json, JsonObject } from '../../turn/json/json.ts';

export interface Ceilings {
  /** `context_window`, tokens. */
  readonly window: number | undefined;
  /** `max_context_window`, tokens. */
  readonly maximum: number | undefined;
  /** `effective_context_window_percent`, above 0 and up to 100; 95 if the entry has none (Q13). */
  readonly percent: number;
  /** `auto_compact_token_limit`, tokens. */
  readonly compactAt: number | undefined;
  /** `comp_hash`, as received. */
  readonly compHash: Json;
}

const DEFAULT_PERCENT = 95;
/** The most tokens. Keeps every product of tokens and percent exact in a double. */
const MAX_TOKENS = 1_000_000_000_000;

/** The ceilings; undefined if one is not a positive integer or the percent is out of range. Such an entry is left out (Q13). */
export function ceilingsOf(entry: JsonObject): Ceilings | undefined {
  const window = entry.context_window ?? undefined;
  const maximum = entry.max_context_window ?? undefined;
  const compactAt = entry.auto_compact_token_limit ?? undefined;
  const percent = entry.effective_context_window_percent ?? DEFAULT_PERCENT;
  if (!isTokens(window) || !isTokens(maximum) || !isTokens(compactAt) || !isPercent(percent)) return undefined;
  return { window, maximum, percent, compactAt, compHash: entry.comp_hash ?? null };
}

/** A key that is equal only for equal ceilings. */
export const ceilingsKey = ({ window, maximum, percent, compactAt, compHash }: Ceilings): string =>
  JSON.stringify([window ?? null, maximum ?? null, percent, compactAt ?? null, compHash]);

const isTokens = (value: Json | undefined): value is number | undefined =>
  value === undefined || (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_TOKENS);

const isPercent = (value: Json): value is number => typeof value === 'number' && value > 0 && value <= 100;
