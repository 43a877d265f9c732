// Replaces the client's body with the Responses turn of the Messages request, for the model that serves it (AM26, AM34, AM45), and finds
// its session.
import { hash } from 'node:crypto';
import { asList, isObject, type Json, type JsonObject, parsedObject } from '../../turn/json/json.ts';
import type { Answer, Decoded } from '../../turn/surface.ts';
import type { Body, Headers, Turn, Work } from '../../turn/turn.ts';
import { EFFORTS } from '../../turn/wire/efforts.ts';
import { raisedCap } from '../../turn/wire/least-cap.ts';
import { sessionOf } from '../../turn/wire/session-header.ts';
import { contextOf, messageDelta, messageStart, sseOf } from './reply/message-object.ts';
import type { MessageEnd } from './reply/message-reply.ts';
import { messageUsage } from './reply/message-usage.ts';
import { decodeMessages, type MessagesRequest } from './request/decode.ts';
import type { AskedEffort } from './request/thinking.ts';

/** @throws Refusal that names members of Messages */
export function messagesRequest(work: Work, turn: Turn): Decoded<MessagesRequest> {
  const request = decodeMessages(work.body, { counts: false });
  const { maxTokens = 0, effort, named, places } = request;
  const isLite = turn.model?.mode?.effective === 'lite';
  const { max_output_tokens: _, ...members } = request.body;
  const level = effort && levelOf(effort, turn.model?.entry ?? {});
  const session = messagesSession(turn, work.body.metadata);
  const body: Body = {
    ...members,
    ...(session === undefined ? {} : { prompt_cache_key: cacheKeyOf(turn, session) }),
    ...(maxTokens > 0 ? { max_output_tokens: raisedCap(maxTokens, turn.key.output_tokens?.max) } : {}),
    ...(level === undefined ? {} : { reasoning: { ...(isObject(members.reasoning) ? members.reasoning : {}), effort: level } }),
    // Lite takes no choice that is an object, so only the chosen tool is sent.
    ...(isLite && named ? { tools: [named.tool], tool_choice: 'required' } : {}),
    ...(isLite && members.parallel_tool_calls !== undefined ? { parallel_tool_calls: false } : {}),
  };
  work.body = body;
  return {
    names: { nameOf: (param) => places.of(param) },
    memory: request,
    session,
    request: { ...body },
    ...(maxTokens === 0 ? { answer: prewarmed(turn, request) } : {}),
  };
}

/** The model's highest level that does not exceed the requested one, otherwise its lowest level. */
function levelOf({ level }: AskedEffort, { supported_reasoning_levels: levels }: JsonObject): string {
  const listed = asList(levels)
    .map((one) => (isObject(one) ? one.effort : one))
    .filter((one): one is string => typeof one === 'string' && EFFORTS.includes(one))
    .sort((a, b) => EFFORTS.indexOf(a) - EFFORTS.indexOf(b));
  const [lowest] = listed;
  if (lowest === undefined) return level === 'lowest' ? 'low' : level;
  if (level === 'lowest') return lowest;
  if (!EFFORTS.includes(level)) return level;
  return listed.findLast((one) => EFFORTS.indexOf(one) <= EFFORTS.indexOf(level)) ?? lowest;
}

/** The answer to a request that asks for no output. */
function prewarmed(turn: Turn, request: MessagesRequest): Answer {
  const end: MessageEnd = { stop_reason: 'max_tokens', stop_sequence: null, stop_details: null };
  const usage = messageUsage({ input: 0, cached: 0, output: 0 }, 0);
  const start = messageStart(turn, 0);
  if (!request.streamed) return answerOf('application/json', JSON.stringify({ ...start, ...end, usage, ...contextOf(request) }));
  const events = [
    { type: 'message_start', message: start },
    { type: 'ping' },
    messageDelta(end, usage, contextOf(request)),
    { type: 'message_stop' },
  ];
  return answerOf('text/event-stream', events.map(sseOf).join(''));
}

const answerOf = (type: string, body: string): Answer => ({ status: 200, headers: { 'content-type': type }, body });

const MARK = '_session_';

/** The session of a request, from what its clients send (AM64, AM65). @param metadata the request's member `metadata` */
function messagesSession({ headers, wire }: Pick<Turn, 'headers' | 'wire'>, metadata: Json | undefined): string | undefined {
  const session =
    sessionOf(headers, wire) ?? header(headers, 'x-claude-code-session-id') ?? sessionIn(isObject(metadata) ? metadata.user_id : undefined);
  const agent = header(headers, 'x-claude-code-agent-id');
  return session === undefined || agent === undefined ? session : `${session} ${agent}`;
}

/** The cache key of a session. It is a digest, so that the account does not learn the session's name (AM65). */
const cacheKeyOf = ({ pool, key }: Pick<Turn, 'pool' | 'key'>, session: string): string =>
  hash('sha256', JSON.stringify([pool.id, key.id, session]), 'hex').slice(0, 32);

function header(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function sessionIn(userId: Json | undefined): string | undefined {
  if (typeof userId !== 'string') return undefined;
  const named = userId.startsWith('{') ? parsedObject(userId)?.session_id : undefined;
  if (typeof named === 'string' && named !== '') return named;
  const at = userId.lastIndexOf(MARK);
  return at === -1 || at + MARK.length === userId.length ? undefined : userId.slice(at + MARK.length);
}
