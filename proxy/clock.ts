// The time that every room lives by: injected, so that tests move it by hand.

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
    let timer: NodeJS.Timeout;
    const wait = (left: number): void => {
      timer = setTimeout(() => (left > LONGEST_MS ? wait(left - LONGEST_MS) : run()), Math.min(left, LONGEST_MS)).unref();
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};

export const LATE = Symbol('late');

/** The result of `work`, or LATE when `ms` milliseconds pass first; the work itself goes on. */
export function withDeadline<Result>(work: Promise<Result>, clock: Pick<Clock, 'after'>, ms: number): Promise<Result | typeof LATE> {
  const { promise: deadline, resolve } = Promise.withResolvers<typeof LATE>();
  const cancel = clock.after(ms, () => resolve(LATE));
  return Promise.race([work, deadline]).finally(cancel);
}
