// The time that the catalog lives by: injected, so that thirty minutes pass in a test without anybody sleeping.

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Runs once after `ms` milliseconds; what it returns cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's clock. Its timers keep no process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};
