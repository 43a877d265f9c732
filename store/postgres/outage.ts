// An outage of the database: while it lasts, statements fail at once, but for one at a time that finds out whether it is over.
import { StoreError } from '../errors.ts';

/** How often a statement is let through. */
const TRIAL_MS = 500;

export class Outage {
  readonly #now: () => number;
  #since: number | undefined;
  #lastTrial = 0;

  /** @param now a clock that only moves forward, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Runs a statement, or fails at once.
   * @throws StoreError `unreachable` during an outage
   */
  async guard<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#since !== undefined) {
      const now = this.#now();
      if (now - this.#lastTrial < TRIAL_MS) throw new StoreError('unreachable', 'PostgreSQL: no connection');
      this.#lastTrial = now;
    }
    try {
      const result = await act();
      this.#since = undefined;
      return result;
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'unreachable')) this.#since = undefined;
      else {
        this.#lastTrial = this.#now();
        this.#since ??= this.#lastTrial;
      }
      throw error;
    }
  }
}
