// Clients of the Responses API: native ones and public ones, over JSON, SSE and websockets.
import { asList, asString, isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { connect, UpgradeRefusal } from '../../support/websocket.ts';
import type { Asked, Called, Came, Client } from './client.ts';

const PATHS = { native: '/backend-api/agent/responses', public: '/v1/responses' } as const;

function bodyOf(asked: Asked, input: readonly Json[], surface: 'native' | 'public'): JsonObject {
  const { tools = [], choice, schema, effort, most } = asked;
  const native = { store: false, include: ['reasoning.encrypted_content'], reasoning: { effort: effort ?? 'medium' } };
  return {
    model: asked.model ?? 'model-a',
    input,
    ...(surface === 'native' ? native : effort === undefined ? {} : { reasoning: { effort }, include: ['reasoning.encrypted_content'] }),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool): Json => ({ type: 'function', strict: false, description: '', ...tool })) }),
    ...(choice === undefined ? {} : { tool_choice: choice === 'required' ? choice : { type: 'function', name: choice } }),
    ...(schema ? { text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } } : {}),
    ...(most === undefined ? {} : { max_output_tokens: most }),
  };
}

function messageOf({ text, image }: Asked): Json {
  const picture = image === undefined ? [] : [{ type: 'input_image', image_url: image }];
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }, ...picture] };
}

const continued = (asked: Asked, { history, calls }: Came, results: readonly string[]): readonly Json[] => [
  ...history,
  ...calls.map(({ id }, i) => ({ type: 'function_call_output', call_id: id, output: results[i] ?? '' })),
  ...(calls.length === 0 ? [messageOf(asked)] : []),
];

/** The result of a reply from its events, over any transport. */
function cameOf(events: readonly JsonObject[], input: readonly Json[], status: number, raw: string): Came {
  const last = events.at(-1) ?? {};
  const response = isObject(last.response) ? last.response : {};
  const items = events.flatMap(({ type, item }) => (type === 'response.output_item.done' && isObject(item) ? [item] : []));
  return itemsCame(
    items,
    { ...response, ...(last.type === 'error' ? { status: 'failed', error: last.error ?? last } : {}) },
    input,
    status,
    raw,
  );
}

function itemsCame(items: readonly JsonObject[], response: JsonObject, input: readonly Json[], status: number, raw: string): Came {
  const error = isObject(response.error) ? asString(response.error.code) : undefined;
  const usage = isObject(response.usage) ? response.usage : {};
  return {
    status,
    text: items.flatMap(({ type, content }) => (type === 'message' ? asList(content).map(textOf) : [])).join(''),
    calls: items.flatMap((item): Called[] => {
      if (item.type !== 'function_call') return [];
      return [{ id: String(item.call_id), name: String(item.name), input: String(item.arguments) }];
    }),
    end: response.status === 'completed' ? 'whole' : response.status === 'incomplete' ? 'cut' : 'failed',
    error,
    output: typeof usage.output_tokens === 'number' ? usage.output_tokens : undefined,
    history: [...input, ...items],
    raw,
  };
}

const textOf = (part: Json): string => (isObject(part) ? (asString(part.text) ?? asString(part.refusal) ?? '') : '');

function refused(status: number, json: unknown, input: readonly Json[], raw: string): Came {
  const error = isObject(json) && isObject(json.error) ? json.error : {};
  return {
    status,
    text: '',
    calls: [],
    end: 'failed',
    error: asString(error.code) ?? asString(error.type),
    output: undefined,
    history: input,
    raw,
  };
}

async function overHttp(gate: TestGateway, key: string, surface: 'native' | 'public', body: JsonObject, stream: boolean): Promise<Came> {
  const reply = await gate.send(PATHS[surface], { body: { ...body, stream }, headers: { authorization: `Bearer ${key}` } });
  const input = asList(body.input);
  if (reply.status !== 200) return refused(reply.status, reply.json, input, reply.text);
  if (stream) {
    const events = eventsOf(reply.text).flatMap(({ data }) => (isObject(data) ? [data] : []));
    return cameOf(events, input, reply.status, reply.text);
  }
  const response = reply.json as JsonObject;
  return itemsCame(asList(response.output).filter(isObject), response, input, reply.status, reply.text);
}

async function overSocket(gate: TestGateway, key: string, surface: 'native' | 'public', body: JsonObject): Promise<Came> {
  using socket = await connect(gate, PATHS[surface], { key });
  const frames = await socket.turn({ stream: true, ...body });
  const last = frames.at(-1) ?? {};
  const status = last.type === 'error' && typeof last.status === 'number' ? last.status : 200;
  return cameOf(frames, asList(body.input), status, JSON.stringify(frames));
}

function client(surface: 'native' | 'public', transport: Client['transport']): Client {
  const send = (gate: TestGateway, key: string, asked: Asked, input: readonly Json[]): Promise<Came> => {
    const body = bodyOf(asked, input, surface);
    return transport === 'websocket' ? overSocket(gate, key, surface, body) : overHttp(gate, key, surface, body, transport === 'sse');
  };
  // If a native stream breaks off, the connection of its client ends too.
  const lost = (input: readonly Json[]): Came => refused(0, { error: { code: 'connection_lost' } }, input, '');
  const kept = (asked: Asked, input: readonly Json[], ...to: readonly [TestGateway, string]): Promise<Came> =>
    send(...to, asked, input).catch((error: unknown) => {
      if (error instanceof UpgradeRefusal) return refused(error.status, error.json, input, error.text);
      return lost(input);
    });
  return {
    name: `${surface} ${transport}`,
    surface,
    transport,
    hasSchemas: true,
    first: (gate, key, asked) => kept(asked, [messageOf(asked)], gate, key),
    next: (gate, key, asked, before, results) => kept(asked, continued(asked, before, results), gate, key),
  };
}

export const RESPONSES_CLIENTS: readonly Client[] = [
  client('native', 'sse'),
  client('native', 'websocket'),
  client('public', 'json'),
  client('public', 'sse'),
  client('public', 'websocket'),
];
