// What a turn may cost: its estimate before it is sent, and the money that is reserved for it in tiers with a cap (AA69, AA71).
import type { LoggedRequest } from '../../../store/schema/logged-rows.ts';
import type { UsageSums } from '../../../store/verbs/sums/usage-sums.ts';
import type { Prices } from '../settings.ts';
import type { Cap } from '../tiers.ts';

/** In billionths of a US dollar. */
export interface Cost {
  /** The cost with the least output. A turn never runs if this exceeds a cap. */
  readonly least: number;
  readonly expected: number;
}

/** What is expected of a turn before it runs (Q19). */
export interface ExpectedUsage {
  /** Of the input, and of the forecast output. */
  tokens(): number;
  costAt(prices: Prices): Cost;
}

/** What a turn has reserved of the caps of its tier. */
export interface Spending {
  readonly tier: number;
  /** In billionths of a US dollar. */
  readonly nanos: number;
  /** Ends the reservation; a second call does nothing. @param totals undefined for a turn that the tier did not serve */
  settle(totals: Readonly<UsageSums> | undefined, of?: LoggedRequest): void;
}

/** `spent`: a cap has no room. `unknown`: the store, which counts for all nodes, does not answer. */
export type NotReserved = 'spent' | 'unknown';

export interface OverflowBudget {
  /** A promise only if nodes share the caps. @param caps at least one */
  reserve(tier: number, caps: readonly Cap[], cost: Cost): Spending | NotReserved | Promise<Spending | NotReserved>;
}
