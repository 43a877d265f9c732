// Amounts of usage as a provider states them (Q18). An absurd one counts as not stated: it would exhaust every limit of a key at once.
import { asCount, type Json } from '../json/json.ts';

/** As many tokens as the largest context window that can be configured. */
const MOST_TOKENS = 1_000_000_000;
const MOST_USD = 1_000_000;

/** A number of tokens of one turn; undefined if it is not a whole number, negative or absurd. */
export function asTokens(value: Json | undefined): number | undefined {
  const count = asCount(value);
  return count !== undefined && count <= MOST_TOKENS ? count : undefined;
}

/** The cost of one turn in US dollars; undefined if it is not a number, negative or absurd. */
export const asCost = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= MOST_USD ? value : undefined;
