// A clock for the tests' upstream. Its time passes only when a test advances it.
import type { Clock } from '../../proxy/base/time/clock.ts';

interface Timer {
  readonly due: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  #now: number;
  #wallSet = 0;
  readonly #timers = new Set<Timer>();
  readonly #listeners = new Set<() => void>();

  /** Default: a time that cannot be confused with the real one. */
  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return this.#now + this.#wallSet;
  }

  /** Sets the wall clock. No time passes. */
  setWallClock(ms: number): void {
    this.#wallSet += ms;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { due: this.#now + ms, run };
    this.#timers.add(timer);
    for (const listener of [...this.#listeners]) listener();
    return () => this.#timers.delete(timer);
  }

  /** Advances the time, and runs the timers that are due. */
  advance(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.#timers]) {
      if (timer.due > this.#now) continue;
      this.#timers.delete(timer);
      timer.run();
    }
  }

  /** Resolves when `count` timers are pending. */
  waiting(count = 1): Promise<void> {
    return new Promise((resolve) => {
      const listener = (): void => {
        if (this.#timers.size < count) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
      listener();
    });
  }
}
