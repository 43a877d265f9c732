// Holds the time of timers until the test lets it pass. Bytes on connections still arrive.
import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';

const STEP_MS = 100;

/** Holds the time from now on. @returns lets so many milliseconds pass */
export function holdTime(context: TestContext): (ms: number) => Promise<void> {
  let now = performance.now();
  context.mock.method(performance, 'now', () => now);
  context.mock.timers.enable({ apis: ['setTimeout'] });
  return async (ms) => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      // What waits for settled promises sets its timers first.
      await setImmediate();
      now += STEP_MS;
      context.mock.timers.tick(STEP_MS);
    }
    await setImmediate();
  };
}
