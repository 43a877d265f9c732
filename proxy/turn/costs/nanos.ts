// Costs are counted in billionths of a US dollar, as whole numbers, so that their sums are exact.
const NANOS_PER_USD = 1_000_000_000;

export const nanosOf = (usd: number): number => Math.round(usd * NANOS_PER_USD);

export const dollars = (nanos: number): number => nanos / NANOS_PER_USD;
