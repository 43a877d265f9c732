// Which quirks an account's answer calls for. Nothing was refused, but a part of the answer was read wrongly (AA87).
import { asList, isObject, type JsonObject } from '../../turn/json/json.ts';
import type { ApiAccountConfig } from '../../turn/provider/api-account.ts';
import { testedUsage } from './test-step.ts';

/** Returns lines for `quirks` in the file. @param items the items of the answer */
export function answerQuirks(
  response: JsonObject | undefined,
  items: readonly JsonObject[],
  { api, quirks }: Pick<ApiAccountConfig, 'api' | 'quirks'>,
): readonly string[] {
  if (api !== 'chat') return [];
  return [
    ...(!quirks.think_tags && items.some(beginsWithTag) ? ['think_tags: true'] : []),
    ...(!quirks.usage_excludes_reasoning && reasonsBeyondOutput(response) ? ['usage_excludes_reasoning: true'] : []),
  ];
}

/** Whether the text begins with reasoning, as with a server that does not separate it. */
function beginsWithTag({ type, content }: JsonObject): boolean {
  if (type !== 'message') return false;
  const [part] = asList(content);
  return isObject(part) && typeof part.text === 'string' && /^\s*<think>/.test(part.text);
}

/** Whether the reasoning exceeds the output. Reasoning is a part of the output, unless the server counts it separately. */
function reasonsBeyondOutput(response: JsonObject | undefined): boolean {
  const usage = testedUsage(response);
  const total = isObject(response?.usage) ? response.usage.total_tokens : undefined;
  const { input_tokens: input, output_tokens: output, reasoning_tokens: reasoning } = usage ?? NO_USAGE;
  if (reasoning === null || output === null || reasoning === 0) return false;
  return reasoning > output || total === (input ?? 0) + output + reasoning;
}

const NO_USAGE = { input_tokens: null, output_tokens: null, reasoning_tokens: null } as const;
