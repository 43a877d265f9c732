// The failures of API accounts, as clients and the account's health see them (AA59, AA61 to AA64).
import { CREDENTIAL_CODES, loggedCode, QUOTA_CODES, RATE_CODES } from '../../../turn/errors/error-codes.ts';
import { errorIn, NO_ERROR, type ProviderError, resetsAt } from '../../../turn/errors/error-statement.ts';
import type { Failure } from '../../../turn/errors/failure.ts';
import { asString, isObject, type Json, type JsonObject, parsedJson } from '../../../turn/json/json.ts';
import type { ProviderFailures, SentMembers } from '../../../turn/provider/provider-failures.ts';
import type { Headers } from '../../../turn/turn.ts';
import { isContextFull, type RefusalClass, refusalClass } from './failure-classes.ts';
import { type PlaceOf, statedBackoff } from './stated-waits.ts';

/** The wait for an exhausted quota whose end is not stated: 15 minutes, doubled up to 6 hours. */
const QUOTA_BACKOFF = { firstMs: 900_000, longestMs: 21_600_000 } as const;

const NO_HEADERS: Headers = {};

/** Members of a request that clients never write. */
const OURS: ReadonlySet<string> = new Set(['stream', 'stream_options']);

/** @param placeOf maps a member that the account names to its place in the Responses request (AA64) */
export function apiFailures(placeOf: PlaceOf): ProviderFailures {
  const failure = (refused: Stated, sent: SentMembers | undefined): Failure => {
    const { status, json, headers, now } = refused;
    const stated = json ? apiErrorIn(json) : NO_ERROR;
    const param = stated.param === null ? null : placeOf(stated.param, sent);
    const blamesEncoding = stated.param !== null && (OURS.has(stated.param) || (param !== null && isAdapted(param, sent)));
    const isJson = json !== undefined;
    const refusal = { status, error: stated, isJson, isModerated: isJson && isModerated(json), blamesEncoding };
    const found = onTier(refusalClass(refusal), sent?.tier ?? 0);
    return {
      cause: found.cause,
      status: found.status ?? status,
      error: { ...stated, param, code: codeOf(found, stated) },
      isForeign: true,
      ...(sent && { namesTurn: true }),
      retryAfterMs: found.pauseMs ?? statedBackoff(found.cause, headers, now),
      resetsAt: resetsAt(json, now),
      ...(found.cause === 'quota' ? { backoff: QUOTA_BACKOFF } : {}),
      ...(found.pauseMs === undefined ? {} : { pauses: true }),
      ...(found.sign === undefined ? {} : { sign: found.sign }),
      // Bodies of such accounts are never relayed. The client gets the error form of its surface (AA63).
      answer: undefined,
    };
  };
  return {
    ofStatus: ({ status, headers, body }, { now, sent }) => failure({ status, headers, now, json: bodyIn(body.toString('utf8')) }, sent),
    inBand(json, now) {
      const status = statedStatus(json) ?? impliedStatus(apiErrorIn(json));
      const found = failure({ status, headers: NO_HEADERS, now, json }, undefined);
      const error = { ...found.error, code: found.error.code ?? codeOfCause(found.cause) };
      return { ...found, error, ...(statedStatus(json) === undefined && { status: 200 }) };
    },
  };
}

/** The object of a body; undefined if it has none. Gemini puts its errors into a list. */
function bodyIn(text: string): JsonObject | undefined {
  const body = parsedJson(text);
  const value: unknown = Array.isArray(body) ? body[0] : body;
  return isObject(value) ? value : undefined;
}

/** The code for an error inside a reply whose own code says nothing to clients (AA59). */
function codeOfCause(cause: Failure['cause']): string {
  if (cause === 'rate') return 'rate_limit_exceeded';
  return cause === 'quota' ? 'usage_limit_reached' : 'upstream_error';
}

interface Stated {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the body has no JSON object. */
  readonly json: JsonObject | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * An account of a higher tier may have a smaller context window than those that the turn was meant for, so another account may have
 * room (AA61).
 */
const onTier = (found: RefusalClass, tier: number): RefusalClass =>
  tier > 0 && found.code === 'context_length_exceeded' ? { ...found, cause: 'model' } : found;

/**
 * The status for an error inside a reply that states none. It counts as a server error, unless its code states the cause, or its words that
 * the context is full (AA59, AM15).
 */
function impliedStatus(error: ProviderError): number {
  const words = [error.code ?? '', error.type ?? ''];
  if (words.some((word) => QUOTA_CODES.has(word) || RATE_CODES.has(word))) return 429;
  if (words.some((word) => CREDENTIAL_CODES.has(word) || word === 'invalid_api_key')) return 401;
  return isContextFull(error) || words.includes('content_filter') ? 400 : 500;
}

const isAdapted = (param: string, sent: SentMembers | undefined): boolean =>
  sent?.adapted.some((name) => param === name || param.startsWith(`${name}.`)) ?? false;

/** The gateway's code, otherwise the provider's code if it is a known one. */
function codeOf({ code }: RefusalClass, stated: ProviderError): string | null {
  if (code !== undefined) return code;
  return stated.code !== null && loggedCode(stated.code) === stated.code ? stated.code : null;
}

/** The longest message of such an error that a client gets, in characters (AA63). */
const LONGEST_MESSAGE = 500;

/** Reads an error. At some servers `code` and `type` are numbers, `error` is a text, or the body itself is the error. */
function apiErrorIn(json: JsonObject): ProviderError {
  const error = errorIn(normalised(json));
  return { ...error, message: error.message?.slice(0, LONGEST_MESSAGE) ?? null };
}

function normalised(json: JsonObject): JsonObject {
  const { error } = json;
  if (typeof error === 'string') return { ...texted(json), error: { ...texted(json), message: error } };
  if (isObject(error)) return { ...json, error: texted(error) };
  // Mistral puts the list of faults into the message.
  if (isObject(json.message)) return { detail: json.message.detail };
  return texted(json);
}

const texted = (error: JsonObject): JsonObject => ({ ...error, code: text(error.code), type: text(error.type) });

const text = (value: Json | undefined): Json | undefined => (typeof value === 'number' ? String(value) : value);

/** The status that an error inside a reply states, as a number or as the digits of its code (AA59). */
function statedStatus(json: JsonObject): number | undefined {
  const error = isObject(json.error) ? json.error : json;
  const stated = [json.status, json.status_code, error.status, error.status_code, error.code].map(Number);
  return stated.find((status) => Number.isInteger(status) && status >= 400 && status <= 599);
}

/** Whether the error has the results of a moderation. */
function isModerated({ error }: JsonObject): boolean {
  if (!isObject(error)) return false;
  const { metadata, innererror } = error;
  if (isObject(innererror) && asString(innererror.code)?.startsWith('ResponsibleAI')) return true;
  return isObject(metadata) && (metadata.flagged_input !== undefined || metadata.reasons !== undefined);
}
