// The usage that a Chat chunk states, in any of its places (AA55).
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';
import { asTokens } from '../../../turn/reply/stated-usage.ts';
import type { ReplyUsage } from '../../api-accounts/reply/usage-in-reply.ts';

/** The stated usage: next to the choices, in `x_groq`, or in the choice. Undefined if the chunk states none. */
export function usageIn({ usage, x_groq, choices }: JsonObject): JsonObject | undefined {
  if (isObject(usage)) return usage;
  if (isObject(x_groq) && isObject(x_groq.usage)) return x_groq.usage;
  const [choice] = asList(choices);
  return isObject(choice) && isObject(choice.usage) ? choice.usage : undefined;
}

/** The counts; undefined if one is missing, not a whole number or negative. */
export function usageInChat(
  usage: JsonObject,
  { usage_excludes_reasoning }: Pick<Quirks, 'usage_excludes_reasoning'>,
): ReplyUsage | undefined {
  const input = asTokens(usage.prompt_tokens);
  const completion = asTokens(usage.completion_tokens);
  if (input === undefined || completion === undefined) return undefined;
  const total = asTokens(usage.total_tokens) ?? input + completion;
  const output = usage_excludes_reasoning && total >= input ? total - input : completion;
  const cached = countIn(usage.prompt_tokens_details, 'cached_tokens') ?? asTokens(usage.prompt_cache_hit_tokens) ?? 0;
  // Some servers state more cached tokens than input tokens, and clients subtract them from the input.
  return {
    input,
    output,
    total,
    cached: Math.min(cached, input),
    reasoning: countIn(usage.completion_tokens_details, 'reasoning_tokens') ?? 0,
  };
}

const countIn = (details: Json | undefined, name: string): number | undefined => (isObject(details) ? asTokens(details[name]) : undefined);
