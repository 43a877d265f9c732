// Idle timeouts of many waits with a single timer. A timer for each wait would have to be set again with every byte that arrives.

/** The ticks in a timeout. With 32, a timeout fires at most 1/32 late, so 280 s stays below the 300 s of native clients. */
const TICKS = 32;

/** A wait with a timeout, from `watch` until `forget`. */
export abstract class Timed {
  /** Ticks since the last byte. */
  quietTicks = 0;
  before: Timed | undefined;
  after: Timed | undefined;
  watchedBy: IdleTimeouts | undefined;

  /** Ends the wait, if there is one. */
  endWait(): void {
    this.watchedBy?.forget(this);
  }

  /** Called if no byte came during the whole timeout. */
  abstract timedOut(): void;
}

/** A linked list whose members are the waits, because a Set that changes with every turn would leave garbage. */
export class IdleTimeouts {
  readonly #tickMs: number;
  #first: Timed | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#tickMs = timeoutMs / TICKS;
  }

  watch(watched: Timed): void {
    watched.quietTicks = 0;
    watched.watchedBy = this;
    watched.before = undefined;
    watched.after = this.#first;
    if (this.#first) this.#first.before = watched;
    this.#first = watched;
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs).unref();
  }

  forget(watched: Timed): void {
    const { before, after } = watched;
    if (before) before.after = after;
    else if (this.#first === watched) this.#first = after;
    if (after) after.before = before;
    watched.before = undefined;
    watched.after = undefined;
    watched.watchedBy = undefined;
  }

  #tick(): void {
    if (!this.#first) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (let one: Timed | undefined = this.#first; one; ) {
      // Read now, because `timedOut` may remove the wait from the list.
      const next: Timed | undefined = one.after;
      one.quietTicks += 1;
      if (one.quietTicks > TICKS) one.timedOut();
      one = next;
    }
  }
}
