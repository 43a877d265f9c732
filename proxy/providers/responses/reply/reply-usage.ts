// The usage of a response in its terminal event. It is estimated if it is missing or cannot be right (AA56).
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { isApiAccount } from '../../../turn/provider/api-account.ts';
import type { EncodedAttempt } from '../../../turn/provider/provider-requests.ts';
import { noteUsage, responseUsage, statedUsage } from '../../api-accounts/reply/usage-in-reply.ts';

/** The response with usage; unchanged if its account states a usage that can be right. */
export function withUsage(response: JsonObject, context: Pick<EncodedAttempt, 'account' | 'estimateUsage' | 'turn'>): JsonObject {
  const stated = isObject(response.usage) ? response.usage : undefined;
  const usage = usageOf(response, stated, context);
  const { account, turn } = context;
  if (isApiAccount(account)) noteUsage({ turn, quirks: account.quirks }, usage ?? {}, stated);
  return usage ? { ...response, usage } : response;
}

/** The usage; undefined if the account's own can be right. */
function usageOf(
  { output }: JsonObject,
  own: JsonObject | undefined,
  { estimateUsage }: Pick<EncodedAttempt, 'estimateUsage'>,
): JsonObject | undefined {
  const stated = own && statedUsage(own);
  if (stated && stated.output > 0) return undefined;
  // The terminal event may leave out output that the stream has shown.
  const shown = 4 * (estimateUsage()?.output_tokens ?? 0);
  const outputBytes = Math.max(shown, bytesOf(asList(output)));
  return stated && outputBytes === 0 ? undefined : responseUsage(stated, { outputBytes, estimateUsage });
}

const TEXTS: ReadonlySet<string> = new Set(['text', 'refusal', 'arguments', 'input']);

function bytesOf(value: Json | undefined): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one: Json) => sum + bytesOf(one), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce((sum, [name, member]) => {
    if (typeof member === 'string') return TEXTS.has(name) ? sum + Buffer.byteLength(member) : sum;
    return sum + bytesOf(member);
  }, 0);
}
