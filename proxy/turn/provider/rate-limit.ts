// What an API account states of the rate limits of one model with each of its answers (AA39).

export type RateKind = 'requests' | 'tokens';

export const RATE_KINDS: readonly RateKind[] = ['requests', 'tokens'];

export interface RateLimit {
  readonly kind: RateKind;
  /** The share that is left, 0 to 1. */
  readonly left: number;
  /** Unix milliseconds; undefined where it is not stated. */
  readonly resetsAt: number | undefined;
}
