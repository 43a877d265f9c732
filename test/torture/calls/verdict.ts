// What a client may be told over HTTP, whatever happened behind the gateway: one answer to the letter of its surface, whole, or broken off where
// the surface has no other way to say it.
import type { JsonObject } from '../../../proxy/turn/json.ts';
import { isObject } from '../../../proxy/turn/json.ts';
import { eventsOf } from '../../support/gateway.ts';
import type { Answer } from '../client/answers.ts';
import type { Seen } from '../client/raw-call.ts';
import { expect, shown } from '../finding.ts';
import type { HttpCall } from './call.ts';

/** What an account's failure may become. */
const STATUSES: ReadonlySet<number> = new Set([200, 400, 401, 404, 409, 413, 415, 422, 429, 500, 502, 503, 504]);

export type Outcome = { readonly kind: 'whole' | 'error' | 'broken'; readonly answer: Answer };

/** @throws Finding where the client was told anything but one proper answer */
export function outcomeOf(call: HttpCall, seen: Seen, spoilt: boolean): Outcome {
  const { answers, rest, fault, isLate, ended, bytes } = seen;
  expect(!isLate, () => `no answer within the deadline; so far ${shown(bytes)}`);
  expect(fault === undefined, () => `${fault}: ${shown(bytes)}`);
  const [answer, ...others] = answers;
  expect(answer !== undefined, () => `the connection ended (${ended}) without an answer: ${shown(bytes)}`);
  expect(others.length === 0 && rest.length === 0, () => `bytes behind the answer: ${shown(bytes)}`);
  if (!answer.isWhole) {
    expect(call.mayBreak && answer.status === 200, () => `an answer that breaks off: ${shown(bytes)}`);
    return { kind: 'broken', answer };
  }
  const { status, headers } = answer;
  expect(/^req_[0-9a-f]{32}$/.test(headers['x-request-id'] ?? ''), () => `no request id: ${shown(bytes)}`);
  if (status === 200 || status === 206) {
    expect(status === 200, () => `status ${status}`);
    checkReply(call, answer, spoilt);
    return { kind: 'whole', answer };
  }
  checkError(call, answer);
  return { kind: 'error', answer };
}

export function checkError({ surface }: Pick<HttpCall, 'surface'>, { status, headers, body }: Answer): void {
  // A native client gets an account's own refusal as it was sent.
  const isOurs = surface === 'public' || surface === 'chat' || status >= 500;
  if (isOurs) expect(STATUSES.has(status) && status !== 500, () => `status ${status}: ${shown(body)}`);
  const wait = headers['retry-after'];
  expect(wait === undefined || surface === 'native' || /^[1-9]\d{0,4}$/.test(wait), () => `Retry-After: ${wait}`);
  if (surface === 'operator' || (surface === 'native' && status < 500)) return;
  const { error } = jsonOf(body);
  expect(isObject(error), () => `no error in ${shown(body)}`);
  const keys = Object.keys(error).sort();
  if (surface !== 'native') {
    const isEnvelope = ['code', 'message', 'param', 'type'].every((key) => keys.includes(key));
    expect(isEnvelope, () => `not the four members of an error: ${keys}`);
  }
}

function checkReply({ reply, surface }: HttpCall, { body, headers }: Answer, spoilt: boolean): void {
  if (reply === 'json') jsonOf(body);
  if (reply === 'events' && surface === 'public' && !spoilt) checkEvents(body);
  if (reply === 'chunks') checkChunks(body);
  if (reply === 'events' || reply === 'chunks') {
    expect(headers['content-type']?.startsWith('text/event-stream') === true, () => `the type ${headers['content-type']}`);
  }
}

const TERMINALS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']);

/** A public stream has numbers in order, one end, and `[DONE]` behind a reply that came to its own end alone. */
export function checkEvents(body: Buffer): void {
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
  expect(numbers.every((n, i) => i === 0 || n > (numbers[i - 1] ?? 0)), () => `sequence numbers ${numbers.join(', ')}`);
}

/** A Chat stream ends with `[DONE]`, or with an error and nothing behind it. */
export function checkChunks(body: Buffer): void {
  const chunks = eventsOf(body.toString()).map(({ data }) => data as JsonObject | string);
  const last = chunks.at(-1);
  const errors = chunks.filter((chunk) => isObject(chunk) && chunk.error !== undefined);
  expect(chunks.every((chunk) => isObject(chunk) || chunk === '[DONE]'), () => `a chunk that is no object: ${shown(body)}`);
  expect(last === '[DONE]' ? errors.length === 0 : errors.length === 1 && errors[0] === last, () => `the end of ${shown(body)}`);
}

export function jsonOf(body: Buffer): JsonObject {
  try {
    const json = JSON.parse(body.toString());
    if (isObject(json)) return json;
  } catch {
    // Told below.
  }
  expect(false, () => `a body that is no JSON object: ${shown(body)}`);
}
