// The rate limits that an API account states in the headers of its answers (AA39, AA89).
import type { Fault } from '../faults/fault.ts';

const LIMITS = { requests: { limit: 10_000, reset: '6ms' }, tokens: { limit: 2_000_000, reset: '12ms' } } as const;

/** @param turns the number of turns of the account so far */
export function rateHeaders(turns: number, faults: readonly Fault[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [kind, { limit, reset }] of Object.entries(LIMITS)) {
    const scripted = faults.find((fault) => fault.kind === 'rate' && fault.of === kind);
    const stated = scripted?.kind === 'rate' ? scripted : { limit, remaining: limit - 1 - (turns % 100), reset };
    headers[`x-ratelimit-limit-${kind}`] = String(stated.limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(stated.remaining);
    if (stated.reset !== undefined) headers[`x-ratelimit-reset-${kind}`] = stated.reset;
  }
  return headers;
}
