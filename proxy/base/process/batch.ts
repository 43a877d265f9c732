// Runs the steps of turns that arrive together in batches: all reads are done first, then all steps that handle them, then all writes. The
// processor's caches then hold the code of each step while it runs for many turns.

/** The most steps in a batch. Larger batches gain little. */
const MOST_WAITING = 128;
/** The most bytes of one read. It is limited because a reader must be able to stop the next read. */
const MOST_BYTES = 65_536;

/**
 * A batch of steps. Without batches, Node reads one connection and runs everything that follows before it reads the next one. Under load
 * that replaces the content of the processor's caches again and again, and a turn needs one and a half times the processor time.
 */
export class Batch {
  readonly #schedule: (run: () => void) => void;
  #waiting: (() => void)[] = [];
  /** The index of the first step that has not run yet. */
  #next = 0;
  #bytes = 0;
  #isScheduled = false;

  constructor(schedule: (run: () => void) => void) {
    this.#schedule = schedule;
  }

  /**
   * Adds a step, which runs with the others of the batch in the order in which they were added.
   * @param bytes the bytes that wait with the step
   */
  add(step: () => void, bytes = 0): void {
    this.#waiting.push(step);
    this.#bytes += bytes;
    if (this.#waiting.length >= MOST_WAITING || this.#bytes >= MOST_BYTES) this.flush();
    else this.#scheduleRun();
  }

  /**
   * Runs the steps that wait now, before something that must come after them. An error in a step does not prevent the others from running.
   */
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
  /** The reads in this iteration of the event loop. */
  readonly arrivals = new Batch((run) => setImmediate(run));
  /** The writes of turns. They run when every turn of the batch has ended or waits. */
  readonly departures = new Batch((run) => process.nextTick(run));
}
