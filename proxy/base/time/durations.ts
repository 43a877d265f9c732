// A histogram of durations as plain numbers. An observation increments one number, and a scrape reads all of them.

/** Upper bounds in seconds. Turns may run for minutes; refusals take milliseconds. */
export const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600] as const;

const BOUNDS_MS: readonly number[] = DURATION_BUCKETS.map((seconds) => seconds * 1000);

export class Durations {
  /** The counts by bucket, not cumulative. The last one counts durations above all bounds. */
  readonly counts: number[] = new Array<number>(BOUNDS_MS.length + 1).fill(0);
  sumMs = 0;

  add(ms: number): void {
    let bucket = 0;
    while (bucket < BOUNDS_MS.length && ms > (BOUNDS_MS[bucket] ?? 0)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sumMs += ms;
  }
}
