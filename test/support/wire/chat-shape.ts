// The tables of Responses in the form of Chat. A Chat request must be dispatched like the same request on /v1/responses.
import { asList, isAbsent, isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import type { WireCase } from './case.ts';
import { isCompact } from './expected-dispatch.ts';

/** The rows that Chat can express, with the bodies and the params of Chat. */
export function onChat(table: readonly WireCase[]): readonly WireCase[] {
  return table.flatMap((row): WireCase[] => {
    if (row.kind === 'chat' || isCompact(row.kind) || row.client === 'websocket' || isAboutNative(row) || choosesUndeclared(row)) return [];
    const body = chatBody(row.body);
    if (!body) return [];
    const refusal = row.refusal && { ...row.refusal, param: chatParam(row.refusal.param) };
    return [{ ...row, kind: 'chat', body, refusal, equivalent: asResponses(row.body) }];
  });
}

/** Whether the case is about the native surface, which its title states. */
const isAboutNative = ({ title }: WireCase): boolean => /\bnative\b/.test(title);

/**
 * Whether a choice names a tool that is not declared. On Chat a choice must name a declared tool, so that a row about the form of a choice
 * would fail for another reason.
 */
const choosesUndeclared = ({ body: { tool_choice: choice, tools }, refusal }: WireCase): boolean =>
  isObject(choice) && tools === undefined && refusal?.param !== 'tool_choice';

const PARAMS: readonly (readonly [RegExp, string])[] = [
  [/^reasoning\.effort$/, 'reasoning_effort'],
  [/^max_output_tokens$/, 'max_completion_tokens'],
  [/^text\.format\.schema$/, 'response_format.json_schema.schema'],
  [/^(tools\.\d+)\.(parameters|name)$/, '$1.function.$2'],
  [/^input(\.|$)/, 'messages$1'],
];

const chatParam = (param: string | null): string | null => {
  const [pattern, words] = PARAMS.find(([one]) => param !== null && one.test(param)) ?? [];
  return pattern && words ? (param?.replace(pattern, words) ?? null) : param;
};

/** Members that have the same meaning in both APIs. */
const SHARED = new Set(['model', 'parallel_tool_calls', 'temperature', 'top_p', 'metadata', 'stream', 'store', 'client_metadata']);

/** Thrown for a request that Chat cannot express. */
class Inexpressible extends Error {}

const inexpressible = (): never => {
  throw new Inexpressible();
};

function chatBody(body: JsonObject): JsonObject | undefined {
  try {
    const chat: Record<string, Json> = {};
    for (const [member, value] of Object.entries(body)) if (value !== undefined) Object.assign(chat, chatMember(member, value));
    return { messages: [], ...chat };
  } catch (thrown) {
    if (thrown instanceof Inexpressible) return undefined;
    throw thrown;
  }
}

function chatMember(member: string, value: Json): JsonObject {
  if (SHARED.has(member)) return { [member]: value };
  switch (member) {
    case 'input':
      return { messages: value === null ? [] : Array.isArray(value) ? (value as Json[]).map(chatMessage) : inexpressible() };
    case 'tools':
      return { tools: Array.isArray(value) ? (value as Json[]).map(chatTool) : value };
    case 'tool_choice':
      return { tool_choice: isObject(value) ? wrapped(value) : value };
    case 'max_output_tokens':
      return { max_completion_tokens: value };
    case 'reasoning':
      if (isAbsent(value)) return {};
      return isObject(value) && onlyHas(value, ['effort']) ? { reasoning_effort: value.effort } : inexpressible();
    case 'text':
      return isObject(value) && onlyHas(value, ['format']) && isObject(value.format)
        ? { response_format: chatFormat(value.format) }
        : inexpressible();
    default:
      return inexpressible();
  }
}

const onlyHas = (object: JsonObject, members: readonly string[]): boolean =>
  Object.keys(object).every((member) => members.includes(member));

function chatMessage(item: Json): Json {
  if (!isObject(item)) return inexpressible();
  const { type = 'message', role, content, id } = item;
  if (type === 'function_call' && id === undefined) {
    const called = { name: item.name ?? null, arguments: item.arguments ?? null };
    return { role: 'assistant', tool_calls: [{ id: item.call_id ?? null, type: 'function', function: called }] };
  }
  if (type === 'function_call_output' && typeof item.output === 'string') {
    return { role: 'tool', tool_call_id: item.call_id ?? null, content: item.output };
  }
  if (type !== 'message' || id !== undefined || typeof role !== 'string') return inexpressible();
  return {
    role,
    content: typeof content === 'string' ? content : Array.isArray(content) ? content.map((part) => chatPart(part, role)) : inexpressible(),
  };
}

function chatPart(part: Json, role: string): Json {
  if (!isObject(part)) return inexpressible();
  if (part.type === 'input_text' || part.type === 'text' || part.type === 'output_text') return { type: 'text', text: part.text ?? null };
  if (role !== 'user') return inexpressible();
  if (part.type === 'input_audio') return part;
  if (part.type !== 'input_image' || typeof part.image_url !== 'string') return inexpressible();
  return { type: 'image_url', image_url: { url: part.image_url, ...(part.detail === undefined ? {} : { detail: part.detail }) } };
}

function chatTool(tool: Json): Json {
  if (!isObject(tool) || tool.function !== undefined || tool.type === 'namespace') return inexpressible();
  if (tool.type === 'mcp') return tool;
  // A placeholder, because Chat has no hosted tools.
  if (tool.type === 'web_search') return { type: 'function', function: { name: 'placeholder' } };
  if (typeof tool.name !== 'string') return inexpressible();
  if (tool.type === 'custom' && !onlyHas(tool, ['type', 'name', 'description'])) return inexpressible();
  return wrapped(tool);
}

function wrapped({ type, ...inside }: JsonObject): JsonObject {
  return type === 'function' || type === 'custom' ? { type, [type]: inside } : inexpressible();
}

function chatFormat({ type, ...inside }: JsonObject): JsonObject {
  if (type === 'json_schema') return { type, json_schema: inside };
  return onlyHas(inside, []) ? { type: type ?? null } : inexpressible();
}

/**
 * The body of Responses with the same meaning, in the form that a translation writes: every message has a type, and every content is a list
 * of parts.
 */
function asResponses(body: JsonObject): JsonObject {
  const input = asList(body.input).map((item) => {
    if (!isObject(item) || (item.type ?? 'message') !== 'message') return item;
    const type = item.role === 'assistant' ? 'output_text' : 'input_text';
    const content = typeof item.content === 'string' ? [{ type, text: item.content }] : asList(item.content).map(plainPart);
    return { ...item, type: 'message', content };
  });
  const { tools, tool_choice: choice, ...rest } = body;
  return {
    ...rest,
    input,
    ...(isAbsent(choice) ? {} : { tool_choice: choice }),
    ...(isAbsent(tools) ? {} : { tools: asList(tools).map(asPlaceholder) }),
  };
}

const plainPart = (part: Json): Json => (isObject(part) && part.type === 'text' ? { ...part, type: 'input_text' } : part);

const asPlaceholder = (tool: Json): Json =>
  isObject(tool) && tool.type === 'web_search' ? { type: 'function', name: 'placeholder' } : tool;

/** Adds Chat's defaults for functions: they are not strict, and have parameters. */
export function withChatDefaults(dispatch: JsonObject): JsonObject {
  const { tools, input } = dispatch;
  return {
    ...dispatch,
    ...(tools === undefined ? {} : { tools: asList(tools).map(withDefaults) }),
    input: asList(input).map((item) =>
      isObject(item) && item.type === 'additional_tools' ? { ...item, tools: asList(item.tools).map(withDefaults) } : item,
    ),
  };
}

function withDefaults(tool: Json): Json {
  if (!isObject(tool) || tool.type !== 'function') return tool;
  const strict = tool.strict === true;
  const none = { type: 'object', properties: {}, ...(strict ? { required: [], additionalProperties: false } : {}) };
  return { ...tool, strict, parameters: tool.parameters ?? none };
}
