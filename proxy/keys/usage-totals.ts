// Totals of turns: counts, tokens and cost, summed over keys, Pools and days (D5, Q18).
import type { UsageSums } from '../../store/usage-sums.ts';
import type { ModelConfig } from '../turn/settings.ts';

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

/** Tokens of one turn; null is unknown. */
export interface Tokens {
  readonly input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly output_tokens: number | null;
}

/** In whole billionths of a US dollar; prices are dollars per million tokens. A model without prices costs 0. */
export function costOf(tokens: Tokens, prices: ModelConfig['prices']): number {
  if (!prices) return 0;
  const input = tokens.input_tokens ?? 0;
  const cached = Math.min(input, tokens.cached_input_tokens ?? 0);
  const perMillion = (input - cached) * prices.input + cached * prices.cached_input + (tokens.output_tokens ?? 0) * prices.output;
  return Math.round(perMillion * 1000);
}

export const dollars = (nanos: number): number => nanos / 1e9;
