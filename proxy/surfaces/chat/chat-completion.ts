// A Response as a chat completion: the message of its one choice, its finish reason, its usage, and its identifying members (D4, Q24).
import { asList, asString, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { Turn } from '../../turn/turn.ts';
import { annotationsOf } from './chat-citations.ts';

/** The members that identify a completion. They are equal in all chunks of a stream. */
export interface CompletionName {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** The exposed model id. */
  readonly model: string;
}

/** The name of a completion. The account's own response id is not shown, because no request on this surface can name it. */
export function completionName({ id, at, model }: Pick<Turn, 'id' | 'at' | 'model'>): CompletionName {
  return { id: id.replace('req_', 'chatcmpl-'), created: Math.floor(at / 1000), model: model?.id ?? '' };
}

/** The `chat.completion` for a client that did not ask for a stream. */
export function chatCompletion(response: JsonObject, turn: Pick<Turn, 'id' | 'at' | 'model'>): JsonObject {
  const message = messageOf(asList(response.output));
  const { id, created, model } = completionName(turn);
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(response, message.tool_calls !== undefined) }],
    usage: chatUsage(response.usage),
    ...statedByProvider(response),
  };
}

/** Members that a provider may state about the whole completion. */
export function statedByProvider({ service_tier, system_fingerprint }: JsonObject): JsonObject {
  return {
    ...(typeof service_tier === 'string' ? { service_tier } : {}),
    ...(typeof system_fingerprint === 'string' ? { system_fingerprint } : {}),
  };
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** @param calls whether the output has tool calls */
export function finishReason({ status, incomplete_details: details }: JsonObject, calls: boolean): FinishReason {
  if (isObject(details)) return details.reason === 'content_filter' ? 'content_filter' : 'length';
  if (status === 'incomplete') return 'length';
  return calls ? 'tool_calls' : 'stop';
}

/** The usage; null if the provider states none. A count that is not stated is null or missing, never zero (Q18). */
export function chatUsage(usage: Json | undefined): JsonObject | null {
  if (!isObject(usage)) return null;
  const prompt = countOf(usage.input_tokens);
  const completion = countOf(usage.output_tokens);
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: countOf(usage.total_tokens) ?? (prompt === null || completion === null ? null : prompt + completion),
    ...(isObject(input) ? { prompt_tokens_details: countsIn(input) } : {}),
    ...(isObject(output) ? { completion_tokens_details: countsIn(output) } : {}),
  };
}

const countOf = (value: Json | undefined): number | null => (typeof value === 'number' ? value : null);

const countsIn = (details: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(details).filter(([, value]) => typeof value === 'number'));

/** The words for the two kinds of tool calls in Chat. */
export const CALLS = {
  function_call: { type: 'function', member: 'arguments' },
  custom_tool_call: { type: 'custom', member: 'input' },
} as const;

export type CallType = keyof typeof CALLS;

export const isCall = (type: Json | undefined): type is CallType => type === 'function_call' || type === 'custom_tool_call';

/** The texts of a message item: its content and its refusal. */
export interface MessageText {
  readonly type: 'content' | 'refusal';
  readonly text: string;
}

export function messageTextsIn({ content }: JsonObject): readonly MessageText[] {
  return asList(content).flatMap((part): MessageText[] => {
    if (!isObject(part)) return [];
    if (part.type === 'output_text' && typeof part.text === 'string') return [{ type: 'content', text: part.text }];
    return part.type === 'refusal' && typeof part.refusal === 'string' ? [{ type: 'refusal', text: part.refusal }] : [];
  });
}

/**
 * The message of a completion. Reasoning is left out, because Chat has no member for it (Q24). Several messages become one text, as in the
 * SDK's `output_text`.
 */
function messageOf(output: readonly Json[]): JsonObject {
  const items = output.filter(isObject);
  const messages = items.filter(({ type }) => type === 'message');
  const said = messages.flatMap(messageTextsIn);
  const calls = items.flatMap(callIn);
  const refusal = joined(said, 'refusal');
  return {
    role: 'assistant',
    content: joined(said, 'content') ?? (calls.length > 0 || refusal !== null ? null : ''),
    refusal,
    annotations: annotationsOf(messages),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function callIn(item: JsonObject): JsonObject[] {
  const { type, name } = item;
  if (!isCall(type)) return [];
  const { type: wrapper, member } = CALLS[type];
  return [{ id: callId(item), type: wrapper, [wrapper]: { name, [member]: asString(item[member]) ?? '' } }];
}

/** The id that the client repeats in the result of the call. */
export const callId = ({ call_id, id }: JsonObject): Json | undefined => call_id ?? id;

/** Null if there is no such text. An empty text is none, because a stream has no delta of it. */
const joined = (said: readonly MessageText[], wanted: MessageText['type']): string | null =>
  said.flatMap(({ type, text }) => (type === wanted ? [text] : [])).join('') || null;
