// Writes that have to be in the store before a turn's terminal event is sent (Q34).
import type { Counters } from '../../base/process/metrics.ts';
import { type Clock, LATE, withDeadline } from '../../base/time/clock.ts';

/** The longest wait. After it, the terminal event is sent even if a write is missing. */
const MOST_WAIT_MS = 50;

export class PendingWrites {
  /** The last write. Writes are stored in order, so all are stored when it is. */
  #last: Promise<void> | undefined;
  #wait: Promise<void> | undefined;

  /** @param write never rejects */
  add(write: Promise<void>): void {
    const stored: Promise<void> = write.then(() => {
      if (this.#last === stored) this.#last = undefined;
    });
    this.#last = stored;
  }

  /** Resolves when all writes are stored, or after the longest wait; undefined if nothing is missing. All callers share one wait. */
  whenStored(clock: Pick<Clock, 'after'>, counters: Counters): Promise<void> | undefined {
    if (this.#wait || !this.#last) return this.#wait;
    this.#wait = withDeadline(this.#last, clock, MOST_WAIT_MS).then((result) => {
      if (result === LATE) counters.add('pins_late');
    });
    return this.#wait;
  }
}
