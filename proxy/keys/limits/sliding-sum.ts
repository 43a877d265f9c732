// A sum over the last minute, exact to the millisecond, because minute limits slide (Q19).

const MINUTE_MS = 60_000;
/** The least number of expired entries that are removed. They are removed together, when at least half of all entries have expired. */
const LEAST_EXPIRED = 32;

export class SlidingSum {
  /** The times of entries, ascending. There is one entry for each millisecond with amounts. */
  #times: number[] = [];
  #amounts: number[] = [];
  #head = 0;
  #sum = 0;

  add(amount: number, now: number): void {
    const last = this.#times.length - 1;
    if (last >= this.#head && (this.#times[last] as number) >= now) this.#amounts[last] = (this.#amounts[last] as number) + amount;
    else {
      this.#times.push(now);
      this.#amounts.push(amount);
    }
    this.#sum += amount;
  }

  /** Subtracts an amount that was added at `at`, if it still counts. */
  undo(amount: number, at: number, now: number): void {
    this.#expire(now);
    let index = this.#times.lastIndexOf(at);
    // The clock was set back, so the amount was added to a later entry.
    if (index === -1 && at + MINUTE_MS > now) index = this.#times.findIndex((time) => time > at);
    if (index < this.#head) return;
    this.#amounts[index] = (this.#amounts[index] as number) - amount;
    this.#sum -= amount;
  }

  sum(now: number): number {
    this.#expire(now);
    return this.#sum;
  }

  /** When the oldest amount stops counting; undefined for an empty sum. */
  firstExpiry(now: number): number | undefined {
    this.#expire(now);
    for (let i = this.#head; i < this.#times.length; i++)
      if ((this.#amounts[i] as number) > 0) return (this.#times[i] as number) + MINUTE_MS;
    return undefined;
  }

  /** When the sum will have fallen to `max`; undefined if it never will. */
  fallsTo(max: number, now: number): number | undefined {
    this.#expire(now);
    let sum = this.#sum;
    if (sum <= max) return now;
    for (let i = this.#head; i < this.#times.length; i++) {
      sum -= this.#amounts[i] as number;
      if (sum <= max) return (this.#times[i] as number) + MINUTE_MS;
    }
    return undefined;
  }

  #expire(now: number): void {
    const last = this.#times.length - 1;
    // The clock was set back by more than a minute. Otherwise the entries would count until it has caught up.
    if (last >= 0 && (this.#times[last] as number) - now > MINUTE_MS) {
      this.#head = last + 1;
      this.#sum = 0;
    }
    while (this.#head < this.#times.length && (this.#times[this.#head] as number) + MINUTE_MS <= now) {
      this.#sum -= this.#amounts[this.#head] as number;
      this.#head += 1;
    }
    const counting = this.#times.length - this.#head;
    if (this.#head === 0 || (counting > 0 && this.#head < Math.max(LEAST_EXPIRED, counting))) return;
    this.#times = this.#times.slice(this.#head);
    this.#amounts = this.#amounts.slice(this.#head);
    this.#head = 0;
  }
}
