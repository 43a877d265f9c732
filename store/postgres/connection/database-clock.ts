// An estimate of the database's clock: the clock of this process, corrected by the difference that was measured last.
import type { Notice } from '../../writing/notice.ts';

/** A difference that is not larger counts as none. */
const EXACT_MS = 100;
/** A measurement whose round trip took longer is ignored, except for the first one. */
const LONGEST_TRIP_MS = 500;
const WARN_MS = 1_000;

export const READ_CLOCK = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now';

/**
 * Leases compare the times of several nodes. With this clock the comparison is right even if the clocks of the nodes differ. The difference
 * is measured between the machines: a test that injects a clock moves the leases with it.
 */
export class DatabaseClock {
  readonly #clock: () => number;
  readonly #machine: () => number;
  readonly #notice: Notice;
  #differenceMs = 0;
  #isMeasured = false;
  #warned = false;

  /** @param machine the machine's own time, Unix milliseconds. It must not jump, unlike a wall clock that is set */
  constructor(clock: () => number, machine: () => number, notice: Notice) {
    this.#clock = clock;
    this.#machine = machine;
    this.#notice = notice;
  }

  now(): number {
    return this.#clock() + this.#differenceMs;
  }

  /** How far the database's clock is ahead of the machine's. */
  get differenceMs(): number {
    return this.#differenceMs;
  }

  /** Measures the difference. @param read resolves with the database's time in Unix milliseconds */
  async measure(read: () => Promise<number>): Promise<void> {
    const before = this.#machine();
    const theirs = await read();
    const after = this.#machine();
    if (after - before > LONGEST_TRIP_MS && this.#isMeasured) return;
    this.#isMeasured = true;
    const difference = Math.round(theirs - (before + after) / 2);
    // The database has read its clock at any time of the round trip.
    const error = (after - before) / 2;
    this.#differenceMs = Math.abs(difference) <= Math.max(EXACT_MS, error) ? 0 : difference;
    const far = Math.abs(this.#differenceMs) >= WARN_MS;
    if (far && !this.#warned) this.#notice('store_clock_differs', { difference_ms: difference });
    this.#warned = far;
  }
}
