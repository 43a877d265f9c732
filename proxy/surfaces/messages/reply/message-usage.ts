// The usage of a message: the account's input without its cached tokens, and its output (AM59, AM60).
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';

export interface UsageCounts {
  /** The whole input, including cached tokens. */
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** Undefined if the account does not state it. */
  readonly thinking?: number | undefined;
}

const count = (value: Json | undefined): number | undefined => (typeof value === 'number' && value >= 0 ? value : undefined);

/** The counts that the account states; undefined if it states none. */
export function usageInResponse(usage: Json | undefined): UsageCounts | undefined {
  if (!isObject(usage)) return undefined;
  const { input_tokens, output_tokens, input_tokens_details: input, output_tokens_details: output } = usage;
  const [stated, written] = [count(input_tokens), count(output_tokens)];
  if (stated === undefined && written === undefined) return undefined;
  return {
    input: stated ?? 0,
    cached: Math.min((isObject(input) && count(input.cached_tokens)) || 0, stated ?? 0),
    output: written ?? 0,
    thinking: isObject(output) ? count(output.reasoning_tokens) : undefined,
  };
}

/** @param searches the number of web searches in the message */
export function messageUsage({ input, cached, output, thinking }: UsageCounts, searches: number): JsonObject {
  return {
    input_tokens: input - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    cache_creation: null,
    output_tokens: output,
    ...(thinking === undefined ? {} : { output_tokens_details: { thinking_tokens: thinking } }),
    server_tool_use: searches > 0 ? { web_search_requests: searches, web_fetch_requests: 0 } : null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  };
}
