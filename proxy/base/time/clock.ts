// The clock that every room uses. It is injected, so that tests can advance it.
import { uptime } from 'node:os';

export interface Clock {
  /**
   * Unix milliseconds that never jump, for waits, deadlines, ages and durations. They begin at the wall clock's time, and then pass evenly
   * even if the wall clock is set.
   */
  now(): number;
  /** The wall clock's time in Unix milliseconds, for times in rows and times that people configured. It can be set forward and back. */
  wallTime(): number;
  /** Runs `run` once when `now()` has passed by at least `ms` milliseconds; the function it returns cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** The clocks of a machine, in milliseconds. */
export interface MachineClocks {
  wallTime(): number;
  /** A clock that passes evenly. On Linux it stops while the machine sleeps. */
  monotonic(): number;
  /** The time since the machine started, including its sleep. */
  uptime(): number;
}

/** The interval at which sleep is measured, and the least sleep that counts, because the two clocks are read one after the other. */
const SLEEP_CHECK_MS = 1_000;

/** The wall clock's time at the start, plus the time that has passed. */
export class SteadyTime {
  readonly #machine: MachineClocks;
  readonly #began: number;
  /** The difference between uptime and monotonic time. It changes only when the machine sleeps. */
  readonly #awake: number;
  #slept = 0;
  #checkAt: number;

  constructor(machine: MachineClocks) {
    this.#machine = machine;
    const monotonic = machine.monotonic();
    this.#began = machine.wallTime() - monotonic;
    this.#awake = machine.uptime() - monotonic;
    this.#checkAt = monotonic + SLEEP_CHECK_MS;
  }

  now(): number {
    const monotonic = this.#machine.monotonic();
    if (monotonic >= this.#checkAt) this.#measureSleep(monotonic);
    return Math.floor(this.#began + monotonic + this.#slept);
  }

  #measureSleep(monotonic: number): void {
    this.#checkAt = monotonic + SLEEP_CHECK_MS;
    const slept = this.#machine.uptime() - monotonic - this.#awake;
    if (slept - this.#slept >= SLEEP_CHECK_MS) this.#slept = slept;
  }
}

/** Node's timers and `now()` round a millisecond down from different moments, so a timer can run this much too early. */
const EARLY_MS = 1;
/** The longest timer. Node runs a longer one after one millisecond. */
const LONGEST_MS = 2 ** 31 - 1 - EARLY_MS;

const machineTime = new SteadyTime({ wallTime: () => Date.now(), monotonic: () => performance.now(), uptime: () => uptime() * 1_000 });

/** The machine's clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => machineTime.now(),
  wallTime: () => Date.now(),
  after: (ms, run) => {
    if (ms > LONGEST_MS) return afterParts(ms, run);
    const timer = setTimeout(run, Math.ceil(ms) + EARLY_MS).unref();
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

/**
 * The result of `work`, or LATE if `ms` milliseconds pass before. The work itself continues. After a pause of the process, a result whose
 * bytes have arrived meanwhile is in time: the event loop reads them after its timers and before `setImmediate`.
 */
export function withDeadline<Result>(work: Promise<Result>, clock: Pick<Clock, 'after'>, ms: number): Promise<Result | typeof LATE> {
  const { promise: deadline, resolve } = Promise.withResolvers<typeof LATE>();
  const cancel = clock.after(ms, () => void setImmediate(() => resolve(LATE)));
  return Promise.race([work, deadline]).finally(cancel);
}
