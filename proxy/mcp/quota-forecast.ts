// Forecasts when a quota window will be used up, at the mean rate since it began. Only numbers that the provider stated are used.
import type { WindowStatus } from '../accounts/quota/quota-status.ts';

/** The least age of a window for a forecast. A younger window, or one that is hardly used, shows no rate yet. */
const LEAST_MS = 600_000;
const LEAST_PERCENT = 1;

/** Unix milliseconds. Undefined for a window that lasts until its reset, that is used up already, or of which too little is known. */
export function usedUpAt({ seconds, used_percent: used, resets_at, stated_at }: WindowStatus): number | undefined {
  if (resets_at === null || used < LEAST_PERCENT || used >= 100) return undefined;
  const reset = resets_at * 1000;
  const elapsed = stated_at - (reset - seconds * 1000);
  if (elapsed < LEAST_MS) return undefined;
  const end = stated_at + (elapsed * (100 - used)) / used;
  return end < reset ? end : undefined;
}
