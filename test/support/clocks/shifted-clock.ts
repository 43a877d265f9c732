// The machine's clock, which a test can set ahead, so that state that a gateway keeps for some seconds expires between two tests.
import { type Clock, systemClock } from '../../../proxy/base/time/clock.ts';

export class ShiftedClock implements Clock {
  #ahead = 0;
  #wallSet = 0;

  now(): number {
    return Date.now() + this.#ahead;
  }

  /** Timers run as usual. Setting the clock ahead ends none of them. */
  after(ms: number, run: () => void): () => void {
    return systemClock.after(ms, run);
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
