// Batches the steps of turns that arrive together: all reads are done first, then everything read is handled, then everything is written.
// Each step then runs for many turns in a row, while the processor's caches hold its code.

/** Larger batches gain little. */
const MOST_WAITING = 128;
/** The bytes of one read: their reader must be able to stop the next read. */
const MOST_BYTES = 65_536;

/**
 * Node delivers what it reads connection by connection, and runs all that follows from one read before the next. Under load that
 * replaces the content of the caches again and again: without batches a turn needs one and a half times the processor time.
 */
export class Batch {
  readonly #schedule: (run: () => void) => void;
  #waiting: (() => void)[] = [];
  /** The first that has not run yet. */
  #next = 0;
  #bytes = 0;
  #isScheduled = false;

  constructor(schedule: (run: () => void) => void) {
    this.#schedule = schedule;
  }

  /**
   * Runs it with the others of the batch, in the order in which they were added.
   * @param bytes that wait with it
   */
  add(step: () => void, bytes = 0): void {
    this.#waiting.push(step);
    this.#bytes += bytes;
    if (this.#waiting.length >= MOST_WAITING || this.#bytes >= MOST_BYTES) this.flush();
    else this.#scheduleRun();
  }

  /** Runs what waits now, before something that must come after it. An error in a step does not keep the others from running. */
  flush(): void {
    try {
      while (this.#next < this.#waiting.length) {
        const step = this.#waiting[this.#next] as () => void;
        this.#next += 1;
        step();
      }
    } finally {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
      this.#bytes = 0;
      if (this.#waiting.length > 0) this.#scheduleRun();
    }
  }

  #scheduleRun(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }
}

/** The batches of the connections of one side, clients or accounts. */
export class Batches {
  /** Reads of this turn of the event loop. */
  readonly arrivals = new Batch((run) => setImmediate(run));
  /** What turns write. It is written when every turn of the batch has ended, or waits. */
  readonly departures = new Batch((run) => process.nextTick(run));
}
