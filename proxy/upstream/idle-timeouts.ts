// Finds answers that fell silent: one timer for all of a carrier, where a timer for each would be set anew with every
// chunk. Replies of the pass-through rows are Node's streams, and have `intake/silence.ts`.

/** The longest silence is told a thirty-second of itself late at most: 280 s must stay below the 300 s of native clients. */
const TICKS = 32;

/** What is watched, from `watch` until `forget`. */
export abstract class Watched {
  /** Ticks since it was last heard of; whoever hears of it sets it to 0. */
  quietTicks = 0;
  before: Watched | undefined;
  after: Watched | undefined;

  /** Nothing was heard for the longest time. */
  abstract silent(): void;
}

/** A list through its members: a set that changes with every turn would leave a trail of tables behind it for the collector. */
export class Silence {
  readonly #tickMs: number;
  #first: Watched | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(longestMs: number) {
    this.#tickMs = longestMs / TICKS;
  }

  watch(watched: Watched): void {
    watched.quietTicks = 0;
    watched.before = undefined;
    watched.after = this.#first;
    if (this.#first) this.#first.before = watched;
    this.#first = watched;
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs).unref();
  }

  forget(watched: Watched): void {
    const { before, after } = watched;
    if (before) before.after = after;
    else if (this.#first === watched) this.#first = after;
    if (after) after.before = before;
    watched.before = undefined;
    watched.after = undefined;
  }

  #tick(): void {
    if (!this.#first) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (let one: Watched | undefined = this.#first; one; ) {
      // It may leave the list while it is told.
      const next: Watched | undefined = one.after;
      one.quietTicks += 1;
      if (one.quietTicks > TICKS) one.silent();
      one = next;
    }
  }
}
