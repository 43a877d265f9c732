// The parts of a message around its content: its start, its end, and its usage (AM52, AM56 to AM60).
import type { JsonObject } from '../../../turn/json/json.ts';
import type { Turn } from '../../../turn/turn.ts';
import type { MessagesRequest } from '../request/decode.ts';
import type { MessageEnd } from './message-reply.ts';
import { messageUsage, type UsageCounts, usageInResponse } from './message-usage.ts';

type NamedTurn = Pick<Turn, 'id' | 'model'>;

/** The start of a message. @param inputTokens the estimate, which is stated because some clients read the input only here */
export function messageStart({ id, model }: NamedTurn, inputTokens: number): JsonObject {
  return {
    id: messageId(id),
    type: 'message',
    role: 'assistant',
    model: model?.id ?? '',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: messageUsage({ input: inputTokens, cached: 0, output: 0 }, 0),
  };
}

const messageId = (requestId: string): string => `msg_${requestId.replace(/^req_/, '').replaceAll(/[^A-Za-z0-9]/g, '')}`;

/** @param estimated the usage if the account states none (Q18) */
export function usageOfMessage(response: JsonObject, searches: number, estimated: () => UsageCounts): JsonObject {
  return messageUsage(usageInResponse(response.usage) ?? estimated(), searches);
}

/** The members that are added for a request with `context_management`. */
export const contextOf = ({ managesContext }: Pick<MessagesRequest, 'managesContext'>): JsonObject =>
  managesContext ? { context_management: { applied_edits: [] } } : {};

/** The data of `message_delta`. */
export function messageDelta(end: MessageEnd, usage: JsonObject, context: JsonObject): JsonObject & { readonly type: string } {
  return { type: 'message_delta', delta: { ...end, container: null }, usage, ...context };
}

/** An event of the stream as SSE. */
export const sseOf = (data: JsonObject & { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
