// When a quota window would be used up, at the mean rate since it began: from what the provider stated alone.
import type { WindowStatus } from '../accounts/quota/quota-status.ts';

/** A window that began later than this, or is used less, shows no rate yet. */
const LEAST_MS = 600_000;
const LEAST_PERCENT = 1;

/** Unix milliseconds; undefined for a window that lasts until its reset, is used up, or of which too little is known. */
export function usedUpAt({ seconds, used_percent: used, resets_at, stated_at }: WindowStatus): number | undefined {
  if (resets_at === null || used < LEAST_PERCENT || used >= 100) return undefined;
  const reset = resets_at * 1000;
  const elapsed = stated_at - (reset - seconds * 1000);
  if (elapsed < LEAST_MS) return undefined;
  const end = stated_at + (elapsed * (100 - used)) / used;
  return end < reset ? end : undefined;
}
