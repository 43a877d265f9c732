// The clock of every room: injected, so that tests advance it by hand.

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Runs `run` once after `ms` milliseconds; the function it returns cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** Node runs a longer timer after one millisecond. */
const LONGEST_MS = 2 ** 31 - 1;

/** The machine's clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    if (ms > LONGEST_MS) return afterParts(ms, run);
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

function afterParts(ms: number, run: () => void): () => void {
  let cancel = systemClock.after(LONGEST_MS, () => {
    cancel = systemClock.after(ms - LONGEST_MS, run);
  });
  return () => cancel();
}

export const LATE = Symbol('late');

/** The result of `work`, or LATE when `ms` milliseconds pass first; the work itself continues. */
export function withDeadline<Result>(work: Promise<Result>, clock: Pick<Clock, 'after'>, ms: number): Promise<Result | typeof LATE> {
  const { promise: deadline, resolve } = Promise.withResolvers<typeof LATE>();
  const cancel = clock.after(ms, () => resolve(LATE));
  return Promise.race([work, deadline]).finally(cancel);
}
