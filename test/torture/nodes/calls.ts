// The calls that clients send to the nodes: Responses on both surfaces, Chat and Messages, streamed and collected, websockets, and clients
// that reconnect elsewhere.
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { turnFrame, userMessage } from '../../support/native-frames.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { pick } from '../attack.ts';
import { type HttpAnswer, post } from './http-client.ts';
import type { Life } from './member.ts';
import { promptOf } from './provider-record.ts';
import { type KeyName, secretOf } from './settings.ts';
import { type SocketAnswer, turnOnSocket } from './socket-client.ts';

const CALL_KINDS = [
  'streamed',
  'collected',
  'native',
  'chat',
  'chat stream',
  'messages',
  'messages stream',
  'socket',
  'resumed',
  'resumed twice',
] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** The keys, some several times to be drawn more often. The account with few slots is busy, but still serves. */
const HTTP_KEYS: readonly KeyName[] = ['free', 'free', 'login', 'login', 'minute', 'minute', 'tokens', 'tokens', 'few', 'few', 'capped'];
const SOCKET_KEYS: readonly KeyName[] = ['socket', 'login', 'few'];

export interface Call {
  readonly number: number;
  readonly kind: CallKind;
  readonly key: KeyName;
  readonly paceMs: number;
}

export type Outcome =
  | { readonly kind: 'whole'; readonly requestId: string | undefined; readonly usage: readonly [input: number, output: number] | undefined }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      readonly retryAfter: string | undefined;
      readonly requestId: string | undefined;
    }
  /** The connection ended before the answer. */
  | { readonly kind: 'broken'; readonly how: string };

/** Returns the process to which a load balancer sends a connection. */
export type Route = () => Life;

type SocketKind = 'socket' | 'resumed' | 'resumed twice';

const isOnSocket = (kind: CallKind): kind is SocketKind => kind === 'socket' || kind === 'resumed' || kind === 'resumed twice';

export function drawCall(number: number, random: SeededRandom): Call {
  const kind = pick(CALL_KINDS, random);
  const key = pick(isOnSocket(kind) ? SOCKET_KEYS : HTTP_KEYS, random);
  return { number, kind, key, paceMs: Math.floor(random.between(0, 150)) };
}

export async function runCall(call: Call, route: Route, signal: AbortSignal): Promise<Outcome> {
  const { kind, key, number, paceMs } = call;
  const prompt = promptOf(number, key, paceMs);
  if (isOnSocket(kind)) return socketOutcome(await onSockets(call, prompt, route, signal));
  const { path, body } = HTTP[kind](prompt);
  return httpOutcome(await post(route().url, { path, body: { model: 'model-a', ...body }, secret: secretOf(key), signal }));
}

type HttpKind = Exclude<CallKind, SocketKind>;

const HTTP: Readonly<Record<HttpKind, (prompt: string) => { readonly path: string; readonly body: JsonObject }>> = {
  streamed: (input) => ({ path: '/v1/responses', body: { input, stream: true } }),
  collected: (input) => ({ path: '/v1/responses', body: { input } }),
  native: (prompt) => ({ path: '/backend-api/agent/responses', body: { input: [userMessage(prompt)], stream: true, store: false } }),
  chat: (content) => ({ path: '/v1/chat/completions', body: { messages: [{ role: 'user', content }] } }),
  'chat stream': (content) => ({ path: '/v1/chat/completions', body: { messages: [{ role: 'user', content }], stream: true } }),
  messages: (content) => ({ path: '/v1/messages', body: { messages: [{ role: 'user', content }], max_tokens: 1_000 } }),
  'messages stream': (content) => ({
    path: '/v1/messages',
    body: { messages: [{ role: 'user', content }], max_tokens: 1_000, stream: true },
  }),
};

/** The events that end a stream normally if it has no `[DONE]`. */
const ENDS: ReadonlySet<unknown> = new Set(['response.completed', 'message_stop']);

async function onSockets({ kind, key, number }: Call, prompt: string, route: Route, signal: AbortSignal): Promise<SocketAnswer> {
  const order = { secret: secretOf(key), session: `nodes-${number}:0`, frame: turnFrame(`turn-${number}`, [userMessage(prompt)]), signal };
  if (kind === 'socket') return turnOnSocket(route().url, order);
  const first = await turnOnSocket(route().url, { ...order, dropAfter: 3 });
  if (first.broken !== 'dropped') return first;
  const again = (): Promise<SocketAnswer> => turnOnSocket(route().url, order);
  if (kind === 'resumed') return again();
  // One of the two gets the turn, and the other one is closed.
  const [one, other] = await Promise.all([again(), again()]);
  return one.isWhole ? one : other;
}

function httpOutcome({ status, requestId, retryAfter, text, isWhole, broken }: HttpAnswer): Outcome {
  if (!isWhole)
    return { kind: 'broken', how: `${broken ?? 'no end'} after ${status === 0 ? 'nothing' : `${status} and ${text.length} bytes`}` };
  const isStream = !text.startsWith('{');
  const events: readonly JsonObject[] = (isStream ? eventsOf(text).map(({ data }) => data) : [JSON.parse(text)]).filter(isObject);
  const json = events.at(-1) ?? {};
  if (status !== 200) return refused(status, json.error, { retryAfter, requestId });
  if (isStream && !text.trimEnd().endsWith('data: [DONE]') && !ENDS.has(json.type))
    return refused(status, isObject(json.response) ? json.response.error : json.error, { retryAfter, requestId });
  const metered = events.findLast(({ usage, response }) => isObject(usage) || isObject(response)) ?? json;
  return { kind: 'whole', requestId, usage: usageOf(isObject(metered.response) ? metered.response : metered) };
}

function socketOutcome({ frames, isWhole, broken }: SocketAnswer): Outcome {
  const nothing = { retryAfter: undefined, requestId: undefined };
  if (!isWhole) return { kind: 'broken', how: `${broken} after ${frames.length} frames` };
  const last = frames.at(-1) ?? {};
  if (last.type === 'response.completed') return { kind: 'whole', requestId: undefined, usage: undefined };
  if (last.type === 'error') return refused(Number(last.status), last.error, nothing);
  return refused(200, isObject(last.response) ? last.response.error : undefined, nothing);
}

const refused = (status: number, error: unknown, more: Pick<HttpAnswer, 'retryAfter' | 'requestId'>): Outcome => ({
  kind: 'refused',
  status,
  code: isObject(error as JsonObject) ? codeOf(error as JsonObject) : 'none',
  ...more,
});

/** The code of an error. On Messages it is among the details (AM10). */
const codeOf = ({ code, details }: JsonObject): string => String(isObject(details) ? details.error_code : code);

function usageOf({ usage }: JsonObject): readonly [number, number] | undefined {
  if (!isObject(usage)) return undefined;
  const { input_tokens, output_tokens, prompt_tokens, completion_tokens, cache_read_input_tokens: cached } = usage;
  return [Number(input_tokens ?? prompt_tokens) + Number(cached ?? 0), Number(output_tokens ?? completion_tokens)];
}
