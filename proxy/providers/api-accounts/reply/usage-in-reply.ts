// The usage of a reply in the form of Responses events: the account's counts if they can be right, otherwise an estimate that is marked
// (AA55, AA56).
import { isObject, type JsonObject } from '../../../turn/json/json.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';
import { asCost, asTokens } from '../../../turn/reply/stated-usage.ts';
import type { TokenCounts } from '../../../turn/reply/turn-result.ts';
import { tokensOfBytes } from '../../../turn/token-estimate.ts';
import type { Turn } from '../../../turn/turn.ts';

/** Token counts of a reply. */
export interface ReplyUsage {
  readonly input: number;
  readonly output: number;
  readonly total: number;
  readonly cached: number;
  readonly reasoning: number;
}

/** What is known of the turn if its account states no usage. */
export interface UsageEvidence {
  /** The UTF-8 bytes of text, calls and reasoning. */
  readonly outputBytes: number;
  readonly estimateUsage: () => TokenCounts | undefined;
}

/** @param stated undefined if the account states no counts, or impossible ones */
export function responseUsage(stated: ReplyUsage | undefined, { outputBytes, estimateUsage }: UsageEvidence): JsonObject {
  const output = tokensOfBytes(outputBytes);
  const isUsable = stated !== undefined && !(stated.output === 0 && output > 0);
  if (isUsable) return usageObject(stated);
  const input = estimateUsage()?.input_tokens ?? 0;
  return { ...usageObject({ input, output, total: input + output, cached: 0, reasoning: 0 }), estimated: true };
}

const usageObject = ({ input, output, total, cached, reasoning }: ReplyUsage): JsonObject => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: total,
});

/**
 * Notes what the row and the settlement need in addition to the counts.
 * @param usage what clients get.
 * @param stated as the account sent it
 */
export function noteUsage(
  { turn, quirks }: { readonly turn: Pick<Turn, 'note'>; readonly quirks: Pick<Quirks, 'cost_in_usage'> },
  usage: JsonObject,
  stated: JsonObject | undefined,
): void {
  if (usage.estimated === true) turn.note('tokens_estimated', true);
  const cost = quirks.cost_in_usage ? asCost(stated?.cost) : undefined;
  if (cost !== undefined) turn.note('cost_usd', cost);
}

/** The usage in a Responses account's event; undefined if a count is missing, not a whole number, or negative. */
export function statedUsage(usage: JsonObject): ReplyUsage | undefined {
  const { input_tokens, output_tokens, total_tokens, input_tokens_details: read, output_tokens_details: written } = usage;
  const [input, output] = [asTokens(input_tokens), asTokens(output_tokens)];
  if (input === undefined || output === undefined) return undefined;
  return {
    input,
    output,
    total: asTokens(total_tokens) ?? input + output,
    cached: (isObject(read) ? asTokens(read.cached_tokens) : undefined) ?? 0,
    reasoning: (isObject(written) ? asTokens(written.reasoning_tokens) : undefined) ?? 0,
  };
}
