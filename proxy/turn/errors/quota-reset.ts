// The time that a provider states for the reset of a quota; an impossible time is ignored (Q8).

/** A reset as a provider states it: a time, a wait, or both. */
export interface StatedReset {
  /** Unix seconds. */
  readonly at: number | undefined;
  /** Seconds from now. */
  readonly after: number | undefined;
}

const MONTH_SECONDS = 31 * 86_400;
/** The largest difference between two clocks that still allows a stated time to be used. */
const SKEW_SECONDS = 3_600;

/**
 * Returns the reset of a window in Unix seconds; undefined if no possible time was stated. A refusal does not name its window, so the
 * default is the longest one.
 * @param now Unix milliseconds
 */
export function resetTime({ at, after }: StatedReset, now: number, windowSeconds = MONTH_SECONDS): number | undefined {
  const stated = [at, after === undefined ? undefined : now / 1000 + after].filter((reset) => reset !== undefined);
  const possible = stated.filter((reset) => isPossible(reset - now / 1000, windowSeconds)).map(Math.ceil);
  // The wait is correct even if the provider's clock is wrong.
  return possible.find((reset) => reset * 1000 > now) ?? possible[0];
}

const isPossible = (secondsAhead: number, windowSeconds: number): boolean =>
  secondsAhead <= windowSeconds + SKEW_SECONDS && secondsAhead >= -windowSeconds;
