// Writes that must be in the store before a turn's terminal event is sent, and are not there yet (Q34).
import type { Counters } from '../../base/process/metrics.ts';
import { type Clock, LATE, withDeadline } from '../../base/time/clock.ts';

/** After this time the terminal event is sent in any case. */
const MOST_WAIT_MS = 50;

export class PendingWrites {
  /** Writes are stored in order: with the last one all are. */
  #last: Promise<void> | undefined;
  #wait: Promise<void> | undefined;

  /** @param write never rejects */
  add(write: Promise<void>): void {
    const stored: Promise<void> = write.then(() => {
      if (this.#last === stored) this.#last = undefined;
    });
    this.#last = stored;
  }

  /** Resolves when all is stored, or after that time; undefined if nothing is missing. All callers wait for the same moment. */
  whenStored(clock: Pick<Clock, 'after'>, counters: Counters): Promise<void> | undefined {
    if (this.#wait || !this.#last) return this.#wait;
    this.#wait = withDeadline(this.#last, clock, MOST_WAIT_MS).then((result) => {
      if (result === LATE) counters.add('pins_late');
    });
    return this.#wait;
  }
}
