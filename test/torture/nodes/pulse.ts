// Measures how long the database takes for a statement of the stage. If that is long, the machine is too busy for deadlines to be
// meaningful.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Span } from './member.ts';

const EVERY_MS = 250;
/** Half of the time that nodes wait for the database. */
const SLOW_MS = 1_000;

export class Pulse {
  /** The slow periods on the monotonic clock. */
  readonly slow: Span[] = [];
  #stopped = false;

  /** @param ask rejects while there is no database */
  constructor(ask: () => Promise<unknown>) {
    void this.#beat(ask);
  }

  stop(): void {
    this.#stopped = true;
  }

  async #beat(ask: () => Promise<unknown>): Promise<void> {
    while (!this.#stopped) {
      const from = performance.now();
      await ask().catch(() => undefined);
      await sleep(EVERY_MS);
      const to = performance.now();
      if (to - from > SLOW_MS + EVERY_MS) this.slow.push({ from, to });
    }
  }
}
