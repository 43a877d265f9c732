// Totals of turns: counts, tokens and cost, summed over keys, Pools and days (D5, Q18).
import type { UsageSums } from '../../store/schema/usage-sums.ts';
import type { LimitType } from './limits/limit-kinds.ts';

export type Totals = UsageSums;

export const noTotals = (): Totals => ({
  requests: 0,
  unknown: 0,
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  cost_nanos: 0,
  held_tokens: 0,
  held_nanos: 0,
});

/** The usage of a turn, stated or estimated, as limits count it. */
export interface Amounts {
  readonly requests: number;
  readonly tokens: number;
  /** Billionths of a US dollar. */
  readonly costNanos: number;
}

/** Tokens and their cost. */
export type Usage = Omit<Amounts, 'requests'>;

/** The amount that counts, in the unit of the limit's type. Dollars count in billionths. */
export const amountOf = (type: LimitType, { requests, tokens, costNanos }: Amounts): number =>
  type === 'tokens' ? tokens : type === 'usd' ? costNanos : requests;

/** The tokens that limits count. */
export const countedTokens = ({ input_tokens, output_tokens, held_tokens }: Readonly<Totals>): number =>
  input_tokens + output_tokens + held_tokens;

/** The amounts of settled turns that limits count. Turns of unknown usage count with the amounts that they reserved. */
export const settledAmounts = (totals: Readonly<Totals>): Amounts => ({
  requests: totals.requests,
  tokens: countedTokens(totals),
  costNanos: totals.cost_nanos + totals.held_nanos,
});
