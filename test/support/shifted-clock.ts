// The machine's clock, which a test can set ahead, so that state that a gateway keeps for some seconds expires between two tests.
import type { Clock } from '../../proxy/base/time/clock.ts';

export class ShiftedClock implements Clock {
  #ahead = 0;
  #wallSet = 0;

  now(): number {
    return Date.now() + this.#ahead;
  }

  /** Timers run as usual. Setting the clock ahead ends none of them. */
  after(ms: number, run: () => void): () => void {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  }

  wallTime(): number {
    return this.now() + this.#wallSet;
  }

  /** Sets the wall clock. No time passes. */
  setWallClock(ms: number): void {
    this.#wallSet += ms;
  }

  setAhead(ms: number): void {
    this.#ahead += ms;
  }
}
