// Holds the time of timers until the test lets it pass. Bytes on connections still arrive.
import type { TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';

/** The usual step. Timers of one step run in order, with nothing settled between them. */
const STEP_MS = 100;

/** Holds the time from now on. @returns a function that lets time pass; milliseconds */
export function holdTime(context: TestContext, stepMs = STEP_MS): (ms: number) => Promise<void> {
  let now = performance.now();
  context.mock.method(performance, 'now', () => now);
  context.mock.timers.enable({ apis: ['setTimeout'] });
  return async (ms) => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      // What waits for settled promises sets its timers first.
      await setImmediate();
      now += stepMs;
      context.mock.timers.tick(stepMs);
    }
    await setImmediate();
  };
}
