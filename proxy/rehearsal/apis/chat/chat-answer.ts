// Answers a Chat request: checks it, plans its output as every simulated turn does, and writes chunks or a completion.
import { asList, asString, isAbsent, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { eventsAnswer, jsonAnswer, type SimulatedAnswer } from '../../delivery/answer.ts';
import type { RequestContext } from '../../endpoint-table.ts';
import type { Fault } from '../../faults/fault.ts';
import { planOf } from '../../model/output-plan.ts';
import { schemaIn } from '../../model/schema-in-text.ts';
import { contentText, type SimulatedTool, type TurnRequest } from '../../model/turn-request.ts';
import { objectBody } from '../../request-refusals.ts';
import type { ApiSettings } from '../api-settings.ts';
import { checkChat } from './chat-checks.ts';
import { type ChatForm, chatForm } from './chat-form.ts';
import { chatReply, type SimulatedReplyContext } from './simulated-chat-reply.ts';

/** @throws SimulatedError */
export function chatAnswer(context: RequestContext, settings: ApiSettings, faults: readonly Fault[]): SimulatedAnswer {
  const { request, account, catalog, ids, now } = context;
  const body = objectBody(request.json);
  if (account.isStrict) checkChat({ body, account, settings, slugs: catalog.slugs });
  const plan = planOf(readChat(body), account.id);
  const input = Math.ceil(request.body.length / 4);
  const form = chatForm(settings.quirks, faults);
  const prompt = { model: body.model ?? null, tools: body.tools ?? [], input: asList(body.messages) };
  const reply = chatReply(plan, reasons(body, form) ? plan.thought : undefined, {
    form,
    account,
    ids,
    now,
    model: body.model ?? null,
    input,
    cached: account.cache.cachedTokens(prompt, asString(body.prompt_cache_key) ?? 'all', input),
    usage: usagePlace(body, settings),
  });
  return body.stream === true && !form.has('json answer') ? streamed(reply.chunks) : jsonAnswer(200, reply.completion);
}

const streamed = (chunks: readonly JsonObject[]): SimulatedAnswer => {
  const { body, ...answer } = eventsAnswer(chunks, {});
  return { ...answer, body: body.kind === 'events' ? { ...body, end: '[DONE]' } : body };
};

/**
 * Whether the reply has reasoning. Models of servers that write tags, and of servers that do not count reasoning as output, always reason.
 */
function reasons(
  { reasoning_effort: effort, reasoning, thinking }: JsonObject,
  { reasoning: spelling, excludesReasoning }: Pick<ChatForm, 'reasoning' | 'excludesReasoning'>,
): boolean {
  if (spelling === 'tags' || excludesReasoning) return true;
  if (isObject(thinking)) return thinking.type === 'enabled';
  const level = effort ?? (isObject(reasoning) ? reasoning.effort : undefined);
  return !isAbsent(level) && level !== 'none';
}

/** A server without `stream_options` states its usage in the chunk of the finish reason, without being asked. */
function usagePlace({ stream_options: options }: JsonObject, { quirks }: ApiSettings): SimulatedReplyContext['usage'] {
  if (quirks.stream_options === false) return 'beside finish';
  return isObject(options) && options.include_usage === true ? 'last' : 'none';
}

/** Reads a Chat request as the simulated model reads every turn: last user message, output of a tool, declared tools, requested format. */
function readChat(body: JsonObject): TurnRequest {
  const messages = asList(body.messages).filter(isObject);
  const last = messages.at(-1);
  return {
    body: asTurn(body, messages),
    input: messages,
    userText: contentText(messages.findLast(({ role }) => role === 'user')?.content),
    toolOutput: last?.role === 'tool' ? contentText(last.content) : undefined,
    wantsCompaction: false,
    tools: asList(body.tools).map(readTool),
    imageTool: undefined,
    searches: false,
  };
}

function readTool(tool: Json): SimulatedTool {
  const { name, parameters } = isObject(tool) && isObject(tool.function) ? tool.function : {};
  return { kind: 'function', name: asString(name) ?? '', namespace: undefined, parameters };
}

/** Translates the members that determine the output into members of a Responses turn. */
function asTurn(body: JsonObject, messages: readonly JsonObject[]): JsonObject {
  const { tool_choice: choice, parallel_tool_calls, max_completion_tokens, max_tokens, response_format: format } = body;
  return {
    tool_choice: isObject(choice) && isObject(choice.function) ? choice.function : choice,
    parallel_tool_calls,
    max_output_tokens: max_completion_tokens ?? max_tokens,
    text: { format: isObject(format) ? formatOf(format, messages) : { type: 'text' } },
  };
}

function formatOf(format: JsonObject, messages: readonly JsonObject[]): JsonObject {
  if (format.type === 'json_schema' && isObject(format.json_schema)) return { type: 'json_schema', schema: format.json_schema.schema };
  const schema = schemaIn(contentText(messages.find(({ role }) => role === 'system' || role === 'developer')?.content));
  return schema ? { type: 'json_schema', schema } : format;
}
