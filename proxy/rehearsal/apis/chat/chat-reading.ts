// Reads a Chat request as the simulated model reads every turn: last user message, output of a tool, declared tools, requested format.
import { asList, asString, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { schemaIn } from '../../model/schema-in-text.ts';
import type { SimulatedTool, TurnRequest } from '../../model/turn-request.ts';

export function readChat(body: JsonObject): TurnRequest {
  const messages = asList(body.messages).filter(isObject);
  const last = messages.at(-1);
  return {
    body: asTurn(body, messages),
    input: messages,
    userText: textOf(messages.findLast(({ role }) => role === 'user')?.content),
    toolOutput: last?.role === 'tool' ? textOf(last.content) : undefined,
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
  const schema = schemaIn(textOf(messages.find(({ role }) => role === 'system' || role === 'developer')?.content));
  return schema ? { type: 'json_schema', schema } : format;
}

function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .flatMap((part) => (isObject(part) ? (asString(part.text) ?? []) : []))
    .join('\n');
}
