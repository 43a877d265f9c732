// Waits for a condition for which there is no event. It asks again until a deadline, and fails with the name of the condition.
import { setTimeout } from 'node:timers/promises';

/** The deadline. It is long for busy machines, and only failures take so long. */
export const PATIENCE_MS = 60_000;
const PAUSE_MS = 5;

/** The first result of `probe` that is not undefined. @param pauseMs the pause between two calls, longer if a call costs much */
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
