// One timer for the earliest of many ends: of cooldowns, and of waits for other nodes' probes.
import type { Clock } from '../../base/time/clock.ts';

/** Node fires longer timers immediately. */
const LONGEST_TIMER_MS = 86_400_000;

export class FirstEnd {
  readonly #clock: Clock;
  readonly #ended: () => void;
  /** The earliest end, Unix milliseconds. Infinite if there is none. The timer is late after a machine slept or its clock was set. */
  at = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, ended: () => void) {
    this.#clock = clock;
    this.#ended = ended;
  }

  /** @param ends Unix milliseconds */
  set(ends: Iterable<number>): void {
    this.#cancel();
    this.#cancel = () => undefined;
    this.at = Number.POSITIVE_INFINITY;
    this.include(ends);
  }

  /** Adds ends. An end that is outdated causes one needless call of `ended`, which sets all ends again. */
  include(ends: Iterable<number>): void {
    const before = this.at;
    for (const end of ends) this.at = Math.min(this.at, end);
    if (this.at === before) return;
    this.#cancel();
    const ms = Math.min(LONGEST_TIMER_MS, Math.max(0, this.at - this.#clock.now()));
    this.#cancel = this.#clock.after(ms, this.#ended);
  }

  /** Stops the timer for good. */
  stop(): void {
    this.#cancel();
  }
}
