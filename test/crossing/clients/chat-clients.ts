// Clients of the Chat Completions API, over JSON and SSE.
import { asList, asString, isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import type { Asked, Called, Came, Client } from './client.ts';

function bodyOf({ model = 'model-a', tools = [], choice, schema, effort, most }: Asked, messages: readonly Json[]): JsonObject {
  return {
    model,
    messages,
    ...(tools.length === 0 ? {} : { tools: tools.map((tool): Json => ({ type: 'function', function: { ...tool } })) }),
    ...(choice === undefined ? {} : { tool_choice: choice === 'required' ? choice : { type: 'function', function: { name: choice } } }),
    ...(schema ? { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } } : {}),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(most === undefined ? {} : { max_completion_tokens: most }),
  };
}

function messageOf({ text, image }: Asked): Json {
  if (image === undefined) return { role: 'user', content: text };
  return {
    role: 'user',
    content: [
      { type: 'text', text },
      { type: 'image_url', image_url: { url: image } },
    ],
  };
}

interface Reply {
  readonly text: string;
  readonly calls: readonly Called[];
  readonly finish: string | undefined;
  readonly error: string | undefined;
  readonly output: number | undefined;
}

function streamed(text: string): Reply {
  const chunks = eventsOf(text).flatMap(({ data }) => (isObject(data) ? [data] : []));
  const choices = chunks.flatMap(({ choices: all }) => asList(all).filter(isObject));
  const deltas = choices.flatMap(({ delta }) => (isObject(delta) ? [delta] : []));
  const pieces = deltas.flatMap(({ tool_calls: calls }) => asList(calls).filter(isObject));
  const indexes = [...new Set(pieces.map(({ index }) => index))];
  const calls = indexes.map((at): Called => {
    const own = pieces.filter(({ index }) => index === at);
    const functions = own.flatMap(({ function: called }) => (isObject(called) ? [called] : []));
    return {
      id: String(own[0]?.id),
      name: String(functions[0]?.name),
      input: functions.map(({ arguments: piece }) => String(piece ?? '')).join(''),
    };
  });
  const usage = chunks.findLast((chunk) => isObject(chunk.usage))?.usage;
  return {
    text: deltas.map(({ content, refusal }) => asString(content) ?? asString(refusal) ?? '').join(''),
    calls,
    finish: choices.map(({ finish_reason: reason }) => asString(reason)).find((reason) => reason !== undefined),
    error: chunks.map(({ error }) => codeOf(error)).find((code) => code !== undefined),
    output: isObject(usage) && typeof usage.completion_tokens === 'number' ? usage.completion_tokens : undefined,
  };
}

const codeOf = (error: unknown): string | undefined => (isObject(error) ? (asString(error.code) ?? asString(error.type)) : undefined);

function whole(json: JsonObject): Reply {
  const choice = asList(json.choices)[0];
  const message = isObject(choice) && isObject(choice.message) ? choice.message : {};
  return {
    text: asString(message.content) ?? asString(message.refusal) ?? '',
    calls: asList(message.tool_calls).flatMap((call): Called[] => {
      if (!isObject(call) || !isObject(call.function)) return [];
      return [{ id: String(call.id), name: String(call.function.name), input: String(call.function.arguments) }];
    }),
    finish: isObject(choice) ? asString(choice.finish_reason) : undefined,
    error: codeOf(json.error),
    output: isObject(json.usage) && typeof json.usage.completion_tokens === 'number' ? json.usage.completion_tokens : undefined,
  };
}

const asMessage = ({ text, calls }: Reply): Json => ({
  role: 'assistant',
  content: text === '' ? null : text,
  ...(calls.length === 0
    ? {}
    : { tool_calls: calls.map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: input } })) }),
});

function client(transport: 'json' | 'sse'): Client {
  const send = async (gate: TestGateway, key: string, asked: Asked, messages: readonly Json[]): Promise<Came> => {
    const stream = transport === 'sse' ? { stream: true, stream_options: { include_usage: true } } : {};
    const body = { ...bodyOf(asked, messages), ...stream };
    const { status, text, json } = await gate.send('/v1/chat/completions', { body, headers: { authorization: `Bearer ${key}` } });
    const reply = status === 200 && transport === 'sse' ? streamed(text) : whole(isObject(json) ? json : {});
    const { finish, ...came } = reply;
    const end = finish === 'stop' || finish === 'tool_calls' ? 'whole' : finish === undefined ? 'failed' : 'cut';
    return { ...came, status, end, history: [...messages, asMessage(reply)], raw: text };
  };
  return {
    name: `chat ${transport}`,
    surface: 'chat',
    transport,
    hasSchemas: true,
    first: (gate, key, asked) => send(gate, key, asked, [messageOf(asked)]),
    next: (gate, key, asked, { history, calls }, results) =>
      send(gate, key, asked, [
        ...history,
        ...calls.map(({ id }, i) => ({ role: 'tool', tool_call_id: id, content: results[i] ?? '' })),
        ...(calls.length === 0 ? [messageOf(asked)] : []),
      ]),
  };
}

export const CHAT_CLIENTS: readonly Client[] = [client('json'), client('sse')];
