// Times of a recording in coarse steps, because exact times would identify a conversation in a provider's log.

const STEPS_MS = [0, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000] as const;

/** The largest step that does not exceed the time. */
export function coarse(ms: number): number {
  return STEPS_MS.findLast((step) => step <= ms) ?? 0;
}

/** Measures from one call to the next. */
export class Stopwatch {
  readonly #now: () => number;
  #last: number;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number) {
    this.#now = now;
    this.#last = now();
  }

  /** Coarse milliseconds since the last call; absent if that is 0. */
  lap(): { readonly after_ms?: number } {
    const now = this.#now();
    const step = coarse(now - this.#last);
    this.#last = now;
    return step === 0 ? {} : { after_ms: step };
  }
}
