// The request headers that may be sent to an account, and the answer headers that may be sent to a client (Q3, Q15).
import type { IncomingHttpHeaders } from 'node:http';
import type { Json, JsonObject } from '../json/json.ts';
import type { WireWords } from '../settings.ts';
import type { Headers } from '../turn.ts';
import { agentPrefix } from './agent-names.ts';

/** Native request headers. `accept-encoding` and content lengths are set by dispatch, since it encodes bodies again. */
const NATIVE_REQUEST = new Set([
  'x-oai-attestation',
  'x-client-request-id',
  'thread-id',
  'session_id',
  'originator',
  'user-agent',
  'openai-beta',
  'version',
  'traceparent',
  'tracestate',
  'accept',
  'content-type',
]);

/**
 * Request headers of the compatible surface: the user agent and headers for tracing. No other header passes, because it could describe the
 * client's own account.
 */
const PUBLIC_REQUEST = new Set(['user-agent', 'traceparent', 'tracestate']);

/** The headers for tracing. */
const TRACE = new Set(['traceparent', 'tracestate']);

const NATIVE_ANSWER = new Set(['content-type', 'retry-after', 'openai-model', 'openai-processing-ms', 'x-reasoning-included']);

const PUBLIC_ANSWER = new Set(['openai-model', 'openai-processing-ms', 'x-reasoning-included']);

const isNativeRequest = (name: string, prefix: string): boolean =>
  NATIVE_REQUEST.has(name) || name.startsWith(prefix) || name.startsWith('x-openai-') || name.startsWith('x-responsesapi-');

/** Returns a fresh object, which an attempt may edit. */
export function nativeRequestHeaders(headers: Headers, wire: WireWords): Record<string, string> {
  const prefix = agentPrefix(wire.agent);
  return pick(headers, (name) => isNativeRequest(name, prefix));
}

export function publicRequestHeaders(headers: Headers): Record<string, string> {
  return pick(headers, (name) => PUBLIC_REQUEST.has(name));
}

/** The client's headers on a surface whose clients address another vendor. */
export const traceHeaders = (headers: Headers): Record<string, string> => pick(headers, (name) => TRACE.has(name));

/** What determines an answer's headers. */
export interface AnswerHeaderOptions {
  readonly wire: WireWords;
  /** Whether the Pool keeps the quota of its accounts private (Q8). */
  readonly hideQuota: boolean;
  /** The exposed id of the turn's model; undefined for a turn without one. */
  readonly model?: string | undefined;
}

/** The account's headers that pass on native routes. Quota headers pass, unless the Pool hides them (Q8). */
export function nativeAnswerHeaders(headers: Headers, { wire, hideQuota }: AnswerHeaderOptions): Record<string, string> {
  const prefix = agentPrefix(wire.agent);
  return pick(headers, (name) => {
    if (NATIVE_ANSWER.has(name)) return true;
    return name.startsWith(prefix) && !(hideQuota && isQuotaHeader(name, wire.agent));
  });
}

/** The headers inside an event that native clients get, in any spelling. Returns the given object if all of them pass. */
export function nativeEventHeaders(headers: JsonObject, options: AnswerHeaderOptions): JsonObject {
  const passes = (name: string, value: Json | undefined): boolean =>
    typeof value !== 'object' && Object.keys(nativeAnswerHeaders({ [name.toLowerCase()]: String(value) }, options)).length > 0;
  const members = Object.entries(headers);
  const passed = members.filter(([name, value]) => passes(name, value));
  return passed.length === members.length ? headers : Object.fromEntries(passed);
}

/** @param name in lower case */
export const isPublicAnswerHeader = (name: string): boolean => PUBLIC_ANSWER.has(name);

/** The header with the account's name of the model. */
export const MODEL_HEADER = 'openai-model';

/** The account's headers that pass on the compatible surface. The one that names the model states the exposed id (Q15). */
export function publicAnswerHeaders(headers: Headers, { model }: Pick<AnswerHeaderOptions, 'model'>): Record<string, string> {
  const isRenamed = model !== undefined && headers[MODEL_HEADER] !== undefined && headers[MODEL_HEADER] !== model;
  return pick(isRenamed ? { ...headers, [MODEL_HEADER]: model } : headers, isPublicAnswerHeader);
}

/** The characters that Node accepts in a header value. With others Node throws when it writes the header. */
const WRITABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

function pick(headers: Headers, keep: (name: string) => boolean): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && keep(name) && WRITABLE.test(value)) kept[name] = value;
  }
  return kept;
}

/** Values of Connection that are not header names. */
const CONNECTION_WORDS = new Set(['keep-alive', 'close', 'upgrade']);

/**
 * The client's headers without those that its Connection header names, because they are meant for this hop only. Every value is a string:
 * Node makes a list only of set-cookie, which is read by no rule and sent to no account.
 */
export function clientHeaders(headers: IncomingHttpHeaders): Headers {
  const connection = headers.connection?.toLowerCase();
  if (connection === undefined || CONNECTION_WORDS.has(connection)) return headers as Headers;
  const named = new Set(connection.split(',').map((token) => token.trim()));
  return pick(headers as Headers, (name) => CONNECTION_WORDS.has(name) || !named.has(name));
}

const LEADING = /^(?:primary|secondary|credits|plan|limit|rate|usage|active-limit|promo)/;
/** Matches quota headers of a single model, which have the model's name before the slot: `x-agent-other-primary-used-percent`. */
const WITHIN = /-(?:primary|secondary)-|-limit-(?:name|id)$/;

/** Whether the backend states an account's quota, plan or credits in the header (Q8). @param name in lower case */
export function isQuotaHeader(name: string, agent: string): boolean {
  const own = agentPrefix(agent);
  if (!name.startsWith(own)) return false;
  return LEADING.test(name.slice(own.length)) || WITHIN.test(name);
}
