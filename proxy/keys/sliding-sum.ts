// A sum over the last minute, to the millisecond (Q19: minute limits slide).

const MINUTE_MS = 60_000;
/** Old entries are thrown out in one go once there are this many of them. */
const SLACK = 1_024;

export class SlidingSum {
  /** In order of time; what happened in one millisecond is one entry. */
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

  /** Takes back what was added at that time, if it still counts. */
  undo(amount: number, at: number, now: number): void {
    this.#forget(now);
    const index = this.#times.lastIndexOf(at);
    if (index < this.#head) return;
    this.#amounts[index] = (this.#amounts[index] as number) - amount;
    this.#sum -= amount;
  }

  sum(now: number): number {
    this.#forget(now);
    return this.#sum;
  }

  /** When the oldest of it stops counting; undefined where there is nothing. */
  next(now: number): number | undefined {
    this.#forget(now);
    for (let i = this.#head; i < this.#times.length; i++)
      if ((this.#amounts[i] as number) > 0) return (this.#times[i] as number) + MINUTE_MS;
    return undefined;
  }

  /** When the sum is no more than `room`; undefined where it never will be. */
  fallsTo(room: number, now: number): number | undefined {
    this.#forget(now);
    let sum = this.#sum;
    if (sum <= room) return now;
    for (let i = this.#head; i < this.#times.length; i++) {
      sum -= this.#amounts[i] as number;
      if (sum <= room) return (this.#times[i] as number) + MINUTE_MS;
    }
    return undefined;
  }

  #forget(now: number): void {
    while (this.#head < this.#times.length && (this.#times[this.#head] as number) + MINUTE_MS <= now) {
      this.#sum -= this.#amounts[this.#head] as number;
      this.#head += 1;
    }
    if (this.#head === 0 || (this.#head < SLACK && this.#head < this.#times.length)) return;
    this.#times = this.#times.slice(this.#head);
    this.#amounts = this.#amounts.slice(this.#head);
    this.#head = 0;
  }
}
