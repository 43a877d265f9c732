// Clients of the Messages API, over JSON and SSE.
import { asList, asString, isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import type { Asked, Called, Came, Client } from './client.ts';

function bodyOf({ model = 'model-a', tools = [], choice, schema, most }: Asked, messages: readonly Json[]): JsonObject {
  return {
    model,
    max_tokens: most ?? 1_000,
    messages,
    ...(tools.length === 0 ? {} : { tools: tools.map(({ name, parameters }): Json => ({ name, input_schema: parameters })) }),
    ...(choice === undefined ? {} : { tool_choice: choice === 'required' ? { type: 'any' } : { type: 'tool', name: choice } }),
    ...(schema ? { output_config: { format: { type: 'json_schema', schema } } } : {}),
  };
}

function messageOf({ text, image }: Asked): Json {
  if (image === undefined) return { role: 'user', content: text };
  const [, type = '', data = ''] = /^data:([^;]+);base64,(.*)$/.exec(image) ?? [];
  return {
    role: 'user',
    content: [
      { type: 'text', text },
      { type: 'image', source: { type: 'base64', media_type: type, data } },
    ],
  };
}

interface Reply {
  readonly blocks: readonly JsonObject[];
  readonly stop: string | undefined;
  readonly error: string | undefined;
  readonly output: number | undefined;
}

function streamed(text: string): Reply {
  const events = eventsOf(text).flatMap(({ data }) => (isObject(data) ? [data] : []));
  const blocks = events.flatMap(({ type, content_block: block, index }) => {
    if (type !== 'content_block_start' || !isObject(block)) return [];
    const deltas = events.flatMap((event) => (event.index === index && isObject(event.delta) ? [event.delta] : []));
    const joined = (name: string): string => deltas.map((delta) => asString(delta[name]) ?? '').join('');
    if (block.type === 'tool_use') return [{ ...block, input: JSON.parse(joined('partial_json') || '{}') as Json }];
    if (block.type === 'thinking') return [{ ...block, thinking: joined('thinking'), signature: joined('signature') }];
    return [block.type === 'text' ? { ...block, text: joined('text') } : block];
  });
  const end = events.findLast(({ type }) => type === 'message_delta');
  const error = events.find(({ type }) => type === 'error')?.error;
  return {
    blocks,
    stop: isObject(end?.delta) ? asString(end.delta.stop_reason) : undefined,
    error: isObject(error) ? asString(error.type) : undefined,
    output: outputOf(end?.usage),
  };
}

const outputOf = (usage: unknown): number | undefined =>
  isObject(usage) && typeof usage.output_tokens === 'number' ? usage.output_tokens : undefined;

const whole = (json: JsonObject): Reply => ({
  blocks: asList(json.content).filter(isObject),
  stop: asString(json.stop_reason),
  error: isObject(json.error) ? asString(json.error.type) : undefined,
  output: outputOf(json.usage),
});

const WHOLE = ['end_turn', 'tool_use', 'stop_sequence'];

function client(transport: 'json' | 'sse'): Client {
  const send = async (gate: TestGateway, key: string, asked: Asked, messages: readonly Json[]): Promise<Came> => {
    const body = { ...bodyOf(asked, messages), ...(transport === 'sse' ? { stream: true } : {}) };
    const headers = { authorization: `Bearer ${key}`, 'anthropic-version': '2023-06-01' };
    const { status, text, json } = await gate.send('/v1/messages', { body, headers });
    const { blocks, stop, error, output } = status === 200 && transport === 'sse' ? streamed(text) : whole(isObject(json) ? json : {});
    return {
      status,
      text: blocks.map((block) => asString(block.text) ?? '').join(''),
      calls: blocks.flatMap((block): Called[] =>
        block.type === 'tool_use' ? [{ id: String(block.id), name: String(block.name), input: JSON.stringify(block.input) }] : [],
      ),
      end: stop === undefined ? 'failed' : WHOLE.includes(stop) ? 'whole' : 'cut',
      error,
      output,
      history: [...messages, { role: 'assistant', content: blocks }],
      raw: text,
    };
  };
  return {
    name: `messages ${transport}`,
    surface: 'messages',
    transport,
    hasSchemas: true,
    first: (gate, key, asked) => send(gate, key, asked, [messageOf(asked)]),
    next: (gate, key, asked, { history, calls }, results) => {
      const blocks = calls.map(({ id }, i) => ({ type: 'tool_result', tool_use_id: id, content: results[i] ?? '' }));
      return send(gate, key, asked, [...history, calls.length === 0 ? messageOf(asked) : { role: 'user', content: blocks }]);
    },
  };
}

export const MESSAGES_CLIENTS: readonly Client[] = [client('json'), client('sse')];
