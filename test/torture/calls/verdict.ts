// The permitted answers to a client over HTTP after any fault of an account: one well-formed answer of its surface that is complete, or
// broken off if the surface cannot report the fault in another way.
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import type { Answer } from '../client/answers.ts';
import type { Seen } from '../client/raw-call.ts';
import { expect, shown } from '../finding.ts';
import type { HttpCall } from './call.ts';

export interface Outcome {
  readonly kind: 'whole' | 'error' | 'broken';
  readonly answer: Answer;
}

/**
 * The account's answer: that of the rehearsal provider, or a changed one. With a changed one, only the form of the client's answer can be
 * checked.
 */
export type Said = 'as ever' | 'spoilt';

/** The permitted answers to a failure of an account on the compatible surface. */
const STATUSES: ReadonlySet<number> = new Set([400, 401, 404, 409, 413, 415, 422, 429, 502, 503, 504, 529]);

/** @throws Finding if the client did not get exactly one valid answer */
export function outcomeOf(call: HttpCall, seen: Seen, said: Said): Outcome {
  const { answers, rest, fault, isLate, ended, bytes } = seen;
  expect(!isLate, () => `no answer within the deadline; so far ${shown(bytes)}`);
  expect(fault === undefined, () => `${fault}: ${shown(bytes)}`);
  const [answer, ...others] = answers;
  expect(answer !== undefined, () => `the connection ended (${ended}) without an answer: ${shown(bytes)}`);
  expect(others.length === 0 && rest.length === 0, () => `bytes behind the answer: ${shown(bytes)}`);
  if (!answer.isWhole) {
    expect(answer.status < 300 && mayBreak(call, answer), () => `an answer that breaks off: ${shown(bytes)}`);
    return { kind: 'broken', answer };
  }
  expect(/^req_[0-9a-f]{32}$/.test(answer.headers['x-request-id'] ?? ''), () => `no request id: ${shown(bytes)}`);
  if (answer.status >= 400) {
    checkError(call, answer);
    return { kind: 'error', answer };
  }
  // A notification of an operator has no answer.
  const isNotification = call.surface === 'operator' && answer.status === 202;
  expect(answer.status === 200 || call.relaysStatus || isNotification, () => `status ${answer.status}`);
  if (!isNotification) checkReply(call, answer, said);
  return { kind: 'whole', answer };
}

/**
 * Whether the answer may break off. A native client cannot detect in another way that a stream broke off, and may get a stream that it did
 * not ask for.
 */
const mayBreak = ({ reply, surface, retry }: HttpCall, { headers }: Answer): boolean =>
  reply === 'other' || (surface === 'native' && retry === 'before commit' && isStream(headers));

const isStream = (headers: Answer['headers']): boolean => headers['content-type']?.startsWith('text/event-stream') === true;

function checkError({ surface }: HttpCall, { status, headers, body }: Answer): void {
  const wait = headers['retry-after'];
  expect(wait === undefined || /^\d{1,5}$/.test(wait), () => `Retry-After: ${wait}`);
  // A native client gets an account's refusal as it was sent, and an operator gets answers of another protocol.
  if (surface === 'native' || surface === 'operator') return;
  expect(STATUSES.has(status), () => `status ${status}: ${shown(body)}`);
  const { error } = jsonOf(body);
  expect(isObject(error), () => `no error in ${shown(body)}`);
  const members = surface === 'messages' ? ['type', 'message', 'details'] : ['code', 'message', 'param', 'type'];
  expect(
    members.every((key) => key in error),
    () => `not the members of an error: ${shown(body)}`,
  );
}

function checkReply({ reply: asked, surface }: HttpCall, { body, headers }: Answer, said: Said): void {
  const stream = STREAMS[surface] ?? 'events';
  const reply = asked === 'any' ? (isStream(headers) ? stream : 'json') : asked;
  const isOurs = surface === 'public' || surface in STREAMS;
  if (reply === 'json' && (isOurs || said === 'as ever')) jsonOf(body);
  if ((reply === 'events' || reply === 'chunks' || reply === 'blocks') && (isOurs || said === 'as ever')) {
    expect(isStream(headers), () => `the type ${headers['content-type']}`);
  }
  // Events that no rule reads are passed on unchanged.
  if (reply === 'events' && isOurs && said === 'as ever') checkEvents(body);
  if (reply === 'chunks') checkChunks(body);
  if (reply === 'blocks') checkBlocks(body);
}

/** The form of the streams of surfaces that have an encoding of their own. */
const STREAMS: Readonly<Record<string, 'chunks' | 'blocks'>> = { chat: 'chunks', messages: 'blocks' };

const TERMINALS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']);

/** Checks a public stream: its numbers are in order, it has one end, and `[DONE]` comes only after a reply that ended normally. */
function checkEvents(body: Buffer): void {
  const events = eventsOf(body.toString()).map(({ data }) => data as JsonObject | string);
  const done = events.at(-1) === '[DONE]';
  const objects = (done ? events.slice(0, -1) : events).map((data) => {
    expect(isObject(data), () => `an event that is no object: ${shown(String(data))}`);
    return data;
  });
  const terminals = objects.filter(({ type }) => TERMINALS.has(type));
  const last = objects.at(-1);
  expect(terminals.length === 1 && terminals[0] === last, () => `${terminals.length} ends: ${objects.map(({ type }) => type).join(', ')}`);
  expect(done === (last?.type === 'response.completed' || last?.type === 'response.incomplete'), () => `[DONE] behind ${last?.type}`);
  const numbers = objects.flatMap(({ sequence_number: n }) => (typeof n === 'number' ? n : []));
  expect(
    numbers.every((n, i) => i === 0 || n > (numbers[i - 1] ?? 0)),
    () => `sequence numbers ${numbers.join(', ')}`,
  );
}

/** Checks a Chat stream: it ends with `[DONE]`, or with an error and nothing after it. */
function checkChunks(body: Buffer): void {
  const chunks = eventsOf(body.toString()).map(({ data }) => data as JsonObject | string);
  const last = chunks.at(-1);
  const errors = chunks.filter((chunk) => isObject(chunk) && chunk.error !== undefined);
  expect(
    chunks.every((chunk) => isObject(chunk) || chunk === '[DONE]'),
    () => `a chunk that is no object: ${shown(body)}`,
  );
  expect(last === '[DONE]' ? errors.length === 0 : errors.length === 1 && errors[0] === last, () => `the end of ${shown(body)}`);
}

/** Checks a Messages stream: its blocks come one after another, and it ends with `message_stop` or with one error (AM51, AM58). */
function checkBlocks(body: Buffer): void {
  const events = eventsOf(body.toString()).map(({ data }) => data as JsonObject);
  const types = events.map(({ type }) => type).filter((type) => type !== 'ping');
  const told = (): string => `${types.join(', ')} in ${shown(body)}`;
  expect(types[0] === 'message_start', told);
  const last = types.at(-1);
  expect(last === 'error' || (last === 'message_stop' && types.at(-2) === 'message_delta'), told);
  let [open, next] = [false, 0];
  for (const { type, index } of events.filter(({ type }) => String(type).startsWith('content_block_'))) {
    const starts = type === 'content_block_start';
    expect(open !== starts && index === (starts ? next : next - 1), told);
    if (starts) next += 1;
    open = type !== 'content_block_stop';
  }
  expect(!open || last === 'error', told);
}

function jsonOf(body: Buffer): JsonObject {
  try {
    const json = JSON.parse(body.toString());
    if (isObject(json)) return json;
  } catch {
    // Reported below.
  }
  expect(false, () => `a body that is no JSON object: ${shown(body)}`);
}
