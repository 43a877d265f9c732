// What a turn may cost: its estimate before it is sent, and the money that is reserved for it in tiers with a cap (AA69, AA71).
import type { UsageSums } from '../../../store/schema/usage-sums.ts';
import type { Prices } from '../settings.ts';
import type { Cap } from '../tiers.ts';

/** The cost of a turn in billionths of a US dollar. */
export interface Cost {
  /** The cost with the least output. A turn never runs if this exceeds a cap. */
  readonly least: number;
  readonly expected: number;
}

/** The usage that is expected of a turn before it runs (Q19). */
export interface ExpectedUsage {
  /** Tokens of the input and of the expected output. */
  tokens(): number;
  costAt(prices: Prices): Cost;
}

/** The part of its tier's caps that a turn has reserved. */
export interface Spending {
  /** In billionths of a US dollar. */
  readonly nanos: number;
  /** Ends the reservation; a second call does nothing. @param totals undefined if the tier did not serve the turn */
  settle(totals: Readonly<UsageSums> | undefined): void;
}

/** `spent`: the cost does not fit into a cap. `unknown`: the store, which counts for all nodes, does not answer. */
export type NotReserved = 'spent' | 'unknown';

export interface OverflowBudget {
  /** Reserves the cost of a turn. Returns a promise only if nodes share the caps. @param caps at least one */
  reserve(caps: readonly Cap[], cost: Cost): Spending | NotReserved | Promise<Spending | NotReserved>;
}
