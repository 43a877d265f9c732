// The usage of a response as its terminal event states it; estimated where it is missing or cannot be right (AA56).
import { asList, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { AttemptContext } from '../../turn/provider/requests.ts';
import { responseUsage, statedUsage } from '../api-accounts/usage.ts';

/** The same response where its account states a usage that can be right. */
export function withUsage(response: JsonObject, { estimateUsage }: Pick<AttemptContext, 'estimateUsage'>): JsonObject {
  const stated = isObject(response.usage) ? statedUsage(response.usage) : undefined;
  if (stated && stated.output > 0) return response;
  // The terminal event may leave out what the stream has shown.
  const shown = 4 * (estimateUsage()?.output_tokens ?? 0);
  const outputBytes = Math.max(shown, bytesOf(asList(response.output)));
  if (stated && outputBytes === 0) return response;
  return { ...response, usage: responseUsage(stated, { outputBytes, estimateUsage }) };
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
