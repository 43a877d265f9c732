// The members of a Chat request besides messages and tools: limits, effort, format, and optional members that the account keeps (AA40,
// AA45).
import { isAbsent, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { AdaptedName } from '../../../turn/provider/adapted.ts';
import type { KeptMember } from '../../../turn/provider/quirks.ts';
import type { Body } from '../../../turn/turn.ts';
import { effortWord } from '../../api-accounts/effort.ts';
import type { ChatEncoding } from './encoding.ts';

/** @param body its cap is removed if the account does not get one; the gateway then ends the reply at the cap (CR1) */
export function outputCapMembers(body: Body, { quirks, model, adapted }: ChatEncoding): JsonObject {
  const { max_output_tokens: asked } = body;
  if (typeof asked !== 'number') return {};
  if (quirks.max_tokens === 'none') {
    adapted.note('max_output_tokens');
    delete body.max_output_tokens;
    return {};
  }
  const most = Math.min(asked, model?.maxOutput ?? asked);
  if (most < asked) adapted.note('max_output_tokens');
  return { [quirks.max_tokens]: most };
}

export function effortMembers(body: Body, { quirks, model, adapted }: ChatEncoding): JsonObject {
  const word = effortWord(body, model, quirks, adapted);
  if (word === undefined) return {};
  const isOff = word === 'off' && Object.values(quirks.effort_values).includes('off');
  switch (quirks.effort) {
    case 'reasoning_effort':
      return { reasoning_effort: isOff ? 'none' : word };
    case 'reasoning':
      return { reasoning: isOff ? { enabled: false } : { effort: word } };
    case 'thinking':
      return isOff ? { thinking: { type: 'disabled' } } : { thinking: { type: 'enabled' }, reasoning_effort: word };
    case 'none':
      adapted.note('reasoning.effort');
      return {};
  }
}

export interface ChatFormat {
  readonly members: JsonObject;
  /** The text to add to the end of the system text. */
  readonly systemEnd: string | undefined;
}

const NO_FORMAT: ChatFormat = { members: {}, systemEnd: undefined };

export function chatFormat({ text }: Body, { quirks, adapted }: ChatEncoding): ChatFormat {
  const format = isObject(text) ? text.format : undefined;
  if (!isObject(format)) return NO_FORMAT;
  if (format.type === 'json_object') return { members: { response_format: { type: 'json_object' } }, systemEnd: undefined };
  if (format.type !== 'json_schema') return NO_FORMAT;
  const { name, description, schema, strict } = format;
  if (quirks.json_schema === 'json_object') {
    adapted.note('text.format');
    const systemEnd = `${JSON.stringify(schema)}\n\nAnswer with one JSON object of this schema, and with nothing else.`;
    return { members: { response_format: { type: 'json_object' } }, systemEnd };
  }
  const isPlain = quirks.json_schema === 'plain';
  if (isPlain && !isAbsent(strict)) adapted.note('text.format');
  const members = {
    name,
    ...(isAbsent(description) ? {} : { description }),
    schema,
    ...(isAbsent(strict) || isPlain ? {} : { strict }),
  };
  return { members: { response_format: { type: 'json_schema', json_schema: members } }, systemEnd: undefined };
}

/**
 * Optional members with the same name in both APIs, in the order in which they are sent. `include` and `truncation` have no meaning in
 * Chat.
 */
const KEPT: readonly Exclude<KeptMember, 'verbosity' | 'include' | 'truncation'>[] = [
  'temperature',
  'top_p',
  'metadata',
  'service_tier',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
];

export function keptMembers(body: Body, { quirks, adapted }: ChatEncoding, cacheKeyOf: (stated: string) => string): JsonObject {
  const members: Record<string, Json> = {};
  const keep = (member: KeptMember, value: Json | undefined, name: AdaptedName): void => {
    if (isAbsent(value) || isEmpty(value)) return;
    if (quirks.keep.includes(member)) members[member] = member === 'prompt_cache_key' ? cacheKeyOf(String(value)) : value;
    else adapted.note(name);
  };
  keep('verbosity', isObject(body.text) ? body.text.verbosity : undefined, 'text.verbosity');
  for (const member of KEPT) keep(member, body[member], member);
  return members;
}

const isEmpty = (value: Json): boolean => typeof value === 'object' && value !== null && Object.keys(value).length === 0;
