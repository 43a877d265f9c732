// One failed attempt, classified: its cause decides whether another account is tried and what the client gets (Q5, Q6).

import { isObject, type Json, type JsonObject } from './json.ts';
import { resetTime } from './quota-reset.ts';
import { endOf } from './terminal-event.ts';
import type { Headers } from './turn.ts';

/**
 * Why a carrier returned no whole answer: `connect` (no connection), `connect_timeout` (none in time), `network` (the connection
 * died), `first_byte` (sent, no answer in time), `idle` (no next byte in time), `malformed` (not HTTP), `interim` (too many
 * interim answers before the answer), `too_large` (the reply needs more memory than it may have), `frame_too_large` (the account
 * closed a websocket for the size of the turn's frame).
 */
export type CarrierFailure =
  | 'connect'
  | 'connect_timeout'
  | 'network'
  | 'first_byte'
  | 'idle'
  | 'malformed'
  | 'interim'
  | 'too_large'
  | 'frame_too_large';

/**
 * `connect`, `network`: no whole answer; `timeout`: sent, no answer in time; `credential`, `quota`, `rate`, `server`,
 * `model`: the account's fault; `request`: the request's fault, so no other account is asked; `malformed`: not an answer.
 */
export type FailureCause =
  | 'connect'
  | 'network'
  | 'timeout'
  | 'credential'
  | 'quota'
  | 'rate'
  | 'server'
  | 'model'
  | 'request'
  | 'malformed';

/** A provider's error in its own words; every member is provider text until it is sanitised. */
export interface ProviderError {
  readonly code: string | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly message: string | null;
}

export interface Failure {
  readonly cause: FailureCause;
  /** The provider's status; 200 where it refused inside a reply, undefined where no answer came. */
  readonly status: number | undefined;
  readonly error: ProviderError;
  /** Milliseconds, from Retry-After. */
  readonly retryAfterMs: number | undefined;
  /** Unix seconds of the quota's reset; undefined where the provider stated none, or an impossible one. */
  readonly resetsAt: number | undefined;
  /** No connection, or no next byte, within its time limit. */
  readonly timedOut?: boolean;
  /** The account refused the size of a websocket frame. */
  readonly frameTooLarge?: boolean;
  /** The provider's answer, which a native client gets sanitised. */
  readonly answer: { readonly headers: Headers; readonly body: Buffer } | undefined;
}

const RETRYABLE: ReadonlySet<FailureCause> = new Set(['connect', 'network', 'credential', 'quota', 'rate', 'server', 'model']);

/** Whether the failure permits an attempt at another account (Q6). */
export const isRetryable = (failure: Failure): boolean => RETRYABLE.has(failure.cause);

const NO_ERROR: ProviderError = { code: null, type: null, param: null, message: null };

const QUOTA_CODES = new Set(['usage_limit_reached', 'usage_not_included', 'insufficient_quota', 'billing_hard_limit_reached']);
const RATE_CODES = new Set(['rate_limit_exceeded', 'rate_limit_reached', 'too_many_requests']);
const MODEL_CODES = new Set(['model_not_found', 'model_not_supported']);
const REQUEST_CODES = new Set([
  'context_length_exceeded',
  'content_filter',
  'content_policy_violation',
  'moderation_blocked',
  'cyber_policy',
  'bad_request',
  'string_above_max_length',
  'array_above_max_length',
  'previous_response_not_found',
]);

/** Further provider codes that a row may keep. */
const OTHER_CODES = new Set([
  'invalid_request_error',
  'invalid_request',
  'invalid_prompt',
  'invalid_type',
  'invalid_value',
  'invalid_json',
  'invalid_encrypted_content',
  'invalid_turn_state',
  'missing_required_parameter',
  'unknown_parameter',
  'unsupported_parameter',
  'unsupported_value',
  'unsupported_content_encoding',
  'not_found',
  'server_error',
  'internal_server_error',
  'server_is_overloaded',
  'service_unavailable',
  'slow_down',
  'timeout',
]);

/** The provider's code where it is a known one, else `upstream_error`: an unknown code may repeat text of the request (S4). */
export function loggedCode(code: string | null): string {
  const known = [QUOTA_CODES, RATE_CODES, MODEL_CODES, REQUEST_CODES, OTHER_CODES].some((codes) => codes.has(code ?? ''));
  return code !== null && known ? code : 'upstream_error';
}

const CREDENTIAL_STATUSES = new Set([401, 403, 407]);

/** 402 says that the account is unpaid. */
const ACCOUNT_STATUSES: ReadonlySet<number | undefined> = new Set([...CREDENTIAL_STATUSES, 402]);

/** Whether the provider's status blames the account. No client gets such a status (Q3). */
export const blamesAccount = ({ status }: Failure): boolean => ACCOUNT_STATUSES.has(status);

const CARRIER_CAUSES: Readonly<Record<CarrierFailure, FailureCause>> = {
  connect: 'connect',
  connect_timeout: 'connect',
  network: 'network',
  first_byte: 'timeout',
  idle: 'network',
  malformed: 'malformed',
  interim: 'malformed',
  too_large: 'malformed',
  frame_too_large: 'request',
};

const NOTHING_STATED = { error: NO_ERROR, retryAfterMs: undefined, resetsAt: undefined, answer: undefined } as const;

/** An attempt without a whole answer. */
export function carrierFailure(failure: CarrierFailure): Failure {
  const timedOut = failure === 'connect_timeout' || failure === 'idle' ? { timedOut: true } : {};
  const frameTooLarge = failure === 'frame_too_large' ? { frameTooLarge: true } : {};
  return { cause: CARRIER_CAUSES[failure], status: undefined, ...NOTHING_STATED, ...timedOut, ...frameTooLarge };
}

/** An attempt that was not sent because it had no credential: the provider refused to issue one, or did not answer. */
export function unsentFailure(why: 'refused' | 'failed'): Failure {
  return why === 'refused'
    ? { cause: 'credential', status: 401, ...NOTHING_STATED }
    : { cause: 'connect', status: undefined, ...NOTHING_STATED };
}

/** An answer with any status but 200. */
export function statusFailure(status: number, headers: Headers, body: Buffer, now: number): Failure {
  const json = jsonOf(body);
  const error = errorIn(json);
  return {
    cause: causeOf(status, error, json),
    status,
    error,
    retryAfterMs: retryAfterMs(headers['retry-after'], now),
    resetsAt: resetsAt(json, now),
    answer: { headers, body },
  };
}

/** An `error` or `response.failed` event, or a whole answer of status 200 with an error in it. An error frame states a status of its own. */
export function inBandFailure(data: JsonObject, now: number): Failure {
  const error = errorIn(data);
  const stated = number(data.status);
  const refused = stated !== undefined && Number.isInteger(stated) && stated >= 400 && stated < 600;
  return {
    cause: refused ? causeOf(stated, error, data) : inBandCause(error),
    status: refused ? stated : 200,
    error,
    retryAfterMs: undefined,
    resetsAt: resetsAt(data, now),
    answer: undefined,
  };
}

function causeOf(status: number, error: ProviderError, json: JsonObject | undefined): FailureCause {
  // No answer to a turn has these statuses, and HTTP ends at 599 (Q3).
  if (status < 400 || status > 599) return 'malformed';
  if (CREDENTIAL_STATUSES.has(status)) return 'credential';
  // An unpaid account is as unusable as one with a refused credential, unless the error states an exhausted quota.
  if (status === 402) return isQuota(error) || hasReset(json) ? 'quota' : 'credential';
  if (status === 429) return isQuota(error) || hasReset(json) ? 'quota' : 'rate';
  if (status >= 500) return 'server';
  if ((status === 400 || status === 404) && (MODEL_CODES.has(error.code ?? '') || error.param === 'model')) return 'model';
  return 'request';
}

function inBandCause(error: ProviderError): FailureCause {
  const code = error.code ?? '';
  if (isQuota(error)) return 'quota';
  if (RATE_CODES.has(code)) return 'rate';
  if (MODEL_CODES.has(code)) return 'model';
  const blamesRequest = REQUEST_CODES.has(code) || code.startsWith('invalid_') || code.startsWith('unsupported_');
  return blamesRequest || error.type === 'invalid_request_error' ? 'request' : 'server';
}

const isQuota = (error: ProviderError): boolean => QUOTA_CODES.has(error.code ?? '') || QUOTA_CODES.has(error.type ?? '');

const text = (value: Json | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null);

function jsonOf(body: Buffer): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** `{error: {…}}`, `{response: {error: {…}}}`, or an event that is itself the error. */
function errorIn(json: JsonObject | undefined): ProviderError {
  if (!json) return NO_ERROR;
  const error = errorObjectOf(json);
  const type = text(error.type);
  return {
    code: text(error.code),
    // An event that is itself the error has its own type there.
    type: error === json && endOf(type ?? '') !== undefined ? null : type,
    param: text(error.param),
    message: text(error.message) ?? text(json.detail),
  };
}

function errorObjectOf(json: JsonObject): JsonObject {
  if (isObject(json.error)) return json.error;
  return isObject(json.response) && isObject(json.response.error) ? json.response.error : json;
}

function hasReset(json: JsonObject | undefined): boolean {
  const fields = json && errorObjectOf(json);
  return fields?.resets_at !== undefined || fields?.resets_in_seconds !== undefined;
}

function resetsAt(json: JsonObject | undefined, now: number): number | undefined {
  const fields = json && errorObjectOf(json);
  return resetTime({ at: number(fields?.resets_at), after: number(fields?.resets_in_seconds) }, now);
}

const number = (value: Json | undefined): number | undefined => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);

/** Whole seconds or an HTTP date, as RFC 9110 has them; of what a library may make of any other text, nothing is a wait. */
const WHOLE_SECONDS = /^\d{1,10}$/;
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}, .{1,30} GMT$/;

/** No limit of a provider lasts longer: a longer wait is a mistake, and is ignored like one that cannot be read. */
const LONGEST_WAIT_MS = 31 * 86_400_000;

function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const wait = WHOLE_SECONDS.test(value) ? Number(value) * 1000 : HTTP_DATE.test(value) ? Date.parse(value) - now : Number.NaN;
  return wait <= LONGEST_WAIT_MS ? Math.max(0, wait) : undefined;
}
