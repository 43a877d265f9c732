// A clock whose time passes only when a test says so.
import type { Clock } from '../../../proxy/base/time/clock.ts';

interface Timer {
  readonly due: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  #now: number;
  #wallSet = 0;
  readonly #timers = new Set<Timer>();
  readonly #listeners = new Set<() => void>();

  /** Default: a time that cannot be confused with the present one. */
  constructor(now = Date.UTC(2023, 10, 14, 22, 13, 20)) {
    this.#now = now;
  }

  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return this.#now + this.#wallSet;
  }

  /** Sets the wall clock forward or back. No time passes. */
  setWallClock(ms: number): void {
    this.#wallSet += ms;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { due: this.#now + ms, run };
    this.#timers.add(timer);
    for (const listener of [...this.#listeners]) listener();
    return () => this.#timers.delete(timer);
  }

  /** Lets the time pass. Each timer runs at its time, and what it caused settles before the next one runs. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0];
      if (!next) break;
      this.#now = Math.max(this.#now, next.due);
      this.#timers.delete(next);
      next.run();
      await settled();
    }
    this.#now = end;
    await settled();
  }

  /** Lets the time pass without timers, as a pause of the process does. Timers that are due run at the next `advance`. */
  skip(ms: number): void {
    this.#now += ms;
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

/** Resolves when every promise that waits only for other promises has settled. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
