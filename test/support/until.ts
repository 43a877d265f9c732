// Waits for a condition without an event: asks again until a deadline, and fails with the name of the condition.
import { setTimeout } from 'node:timers/promises';

/** Only a failure takes this long; a busy machine needs more than a quiet one. */
export const PATIENCE_MS = 20_000;
const PAUSE_MS = 5;

/** The first answer of `probe` that is not undefined. @param pauseMs longer if each question costs much */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  patienceMs = PATIENCE_MS,
  pauseMs = PAUSE_MS,
): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
    await setTimeout(pauseMs);
  }
}
