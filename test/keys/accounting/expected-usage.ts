// The expected usage: the amounts that each settled turn adds to the totals of its key, Pool and day, in whole numbers.
import type { UsageSums } from '../../../store/schema/usage-sums.ts';
import type { Settled } from './deliveries.ts';

/** Prices in billionths of a dollar for a token, which is a thousand times the dollars per million tokens in the configuration. */
export interface NanoPrices {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

const FREE: NanoPrices = { input: 0, cached: 0, output: 0 };

/** The tokens of a request row. */
export interface RowTokens {
  readonly model: string | null;
  readonly input: number | null;
  readonly cached: number | null;
  readonly output: number | null;
  readonly estimated: boolean;
}

export interface Entry extends RowTokens {
  readonly key: string;
  readonly pool: string;
  /** The model under its name in metrics. */
  readonly label: string;
  /** Unix milliseconds at midnight UTC. */
  readonly day: number;
  /** When it began and when it was settled, Unix milliseconds. */
  readonly begins: number;
  readonly at: number;
  readonly sums: UsageSums;
}

export interface SettledTurn {
  readonly key: string;
  readonly pool: string;
  readonly model: string | null;
  readonly hosted: boolean;
  readonly usesNoTokens: boolean;
  readonly settled: Settled;
  /** The estimated tokens of the prompt; undefined if they are unknown, so nothing is estimated or reserved. */
  readonly inputEstimate: number | undefined;
  /** The reserved output tokens; 0 for a key without a limit of tokens or dollars. */
  readonly reservedOutput: number;
  /** Whether the key reserves tokens. */
  readonly reserves: boolean;
  readonly prices: NanoPrices | undefined;
  readonly begins: number;
  readonly at: number;
}

const DAY_MS = 86_400_000;

export function entryOf(turn: SettledTurn): Entry {
  const { key, pool, model, hosted, usesNoTokens, settled, inputEstimate, reservedOutput, reserves, prices = FREE, begins, at } = turn;
  const tokens = tokensOf(settled, inputEstimate);
  const { input, cached, output } = tokens;
  const unknown = input === null || output === null;
  const held = unknown && settled.as === 'unknown' && settled.held && reserves && inputEstimate !== undefined;
  return {
    key,
    pool,
    model,
    label: hosted ? (model ?? 'other') : 'other',
    ...tokens,
    day: at - (at % DAY_MS),
    begins,
    at,
    sums: {
      requests: 1,
      unknown: unknown && !usesNoTokens ? 1 : 0,
      input_tokens: input ?? 0,
      cached_input_tokens: cached ?? 0,
      output_tokens: output ?? 0,
      cost_nanos: costOf({ input: input ?? 0, cached: cached ?? 0, output: output ?? 0 }, prices),
      held_tokens: held ? inputEstimate + reservedOutput : 0,
      held_nanos: held ? costOf({ input: inputEstimate, cached: 0, output: reservedOutput }, prices) : 0,
    },
  };
}

function tokensOf(settled: Settled, inputEstimate: number | undefined): Omit<RowTokens, 'model'> {
  if (settled.as === 'stated') return { ...settled.tokens, estimated: false };
  if (settled.as === 'unknown' || inputEstimate === undefined) return { input: null, cached: null, output: null, estimated: false };
  return { input: inputEstimate, cached: null, output: Math.ceil(Buffer.byteLength(settled.shown) / 4), estimated: true };
}

function costOf(
  { input, cached, output }: { readonly input: number; readonly cached: number; readonly output: number },
  prices: NanoPrices,
): number {
  const discounted = Math.min(input, cached);
  return (input - discounted) * prices.input + discounted * prices.cached + output * prices.output;
}

const FIELDS = [
  'requests',
  'unknown',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'cost_nanos',
  'held_tokens',
  'held_nanos',
] as const satisfies readonly (keyof UsageSums)[];

export function sumOf(entries: Iterable<Entry>): UsageSums {
  const sum = {
    requests: 0,
    unknown: 0,
    input_tokens: 0,
    cached_input_tokens: 0,
    output_tokens: 0,
    cost_nanos: 0,
    held_tokens: 0,
    held_nanos: 0,
  };
  for (const { sums } of entries) for (const field of FIELDS) sum[field] += sums[field];
  return sum;
}

/** The sums by a name of the entries. */
export function sumsBy(entries: readonly Entry[], nameOf: (entry: Entry) => string): Readonly<Record<string, UsageSums>> {
  const groups = Map.groupBy(entries, nameOf);
  return Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, its]) => [name, sumOf(its)]));
}
