// What a provider states with a refusal: the error in its own words, a status inside a reply, the quota's reset, and how long to wait.
import { asNumber, isObject, type Json, type JsonObject } from '../json/json.ts';
import { endOf } from '../reply/terminal-event.ts';
import type { Headers } from '../turn.ts';
import { codeOfType } from './error-codes.ts';
import { firstOfDetails, statedInText } from './error-text.ts';
import { resetTime } from './quota-reset.ts';

/** A provider's error as it was sent. Every member is unchecked text until it is sanitised. */
export interface ProviderError {
  readonly code: string | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly message: string | null;
}

export const NO_ERROR: ProviderError = { code: null, type: null, param: null, message: null };

/**
 * Reads every form in which providers state an error: `{error: {…}}`, `{response: {error: {…}}}`, an event that is itself the error, and
 * `{detail}` with a text, an object or a list of `{type, loc, msg}` (RB19). If no member states the code or the param, they are read from
 * the text. A message about a model that the account does not have is replaced with neutral words (RB20).
 */
export function errorIn(json: JsonObject | undefined): ProviderError {
  if (!json) return NO_ERROR;
  const error = errorObjectOf(json);
  const type = text(error.type);
  const message = text(error.message) ?? text(json.detail);
  const inText = statedInText(message);
  return {
    code: text(error.code) ?? inText.code ?? codeOfType(type),
    // In an event that is itself the error, `type` is the type of the event.
    type: error === json && endOf(type ?? '') !== undefined ? null : type,
    param: text(error.param) ?? inText.param,
    message: inText.message ?? message,
  };
}

function errorObjectOf(json: JsonObject): JsonObject {
  const { error, response, detail } = json;
  if (isObject(error)) return error;
  if (isObject(response) && isObject(response.error)) return response.error;
  return (isObject(detail) ? detail : firstOfDetails(detail)) ?? json;
}

/** The status that an error inside a reply states. Undefined if the stated number is not a status of an error. */
export function statusIn({ status, status_code }: JsonObject): number | undefined {
  return [status, status_code].find((value): value is number => Number.isInteger(value) && Number(value) >= 400 && Number(value) < 600);
}

/** The headers that an error frame repeats, with lower-case names. An answer over HTTP has these headers in its head (RB27). */
export function headersIn({ headers }: JsonObject): Headers {
  if (!isObject(headers)) return {};
  const stated = Object.entries(headers).filter(([, value]) => value !== null && typeof value !== 'object');
  return Object.fromEntries(stated.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

/** Whether the error states a reset time, valid or not. */
export function hasReset(json: JsonObject | undefined): boolean {
  const fields = json && errorObjectOf(json);
  return fields?.resets_at !== undefined || fields?.resets_in_seconds !== undefined;
}

/** Unix seconds; undefined if no possible time is stated. @param now Unix milliseconds */
export function resetsAt(json: JsonObject | undefined, now: number): number | undefined {
  const fields = json && errorObjectOf(json);
  return resetTime({ at: asNumber(fields?.resets_at), after: asNumber(fields?.resets_in_seconds) }, now);
}

/** Seconds or an HTTP date, as RFC 9110 defines them. Some servers state decimals of a second too. Any other text is ignored. */
const SECONDS = /^\d{1,10}(?:\.\d{1,9})?$/;
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}, .{1,30} GMT$/;

/** The longest wait that is believed. No provider has a longer limit, so a longer wait is ignored as a mistake. */
const LONGEST_WAIT_MS = 31 * 86_400_000;

/** @param value of Retry-After. @param now Unix milliseconds @returns whole milliseconds, rounded up */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  // The exponent keeps the decimals exact: 1.1 * 1000 is more than 1100.
  const wait = SECONDS.test(value) ? Math.ceil(Number(`${value}e3`)) : HTTP_DATE.test(value) ? Date.parse(value) - now : Number.NaN;
  return wait <= LONGEST_WAIT_MS ? Math.max(0, wait) : undefined;
}

const text = (value: Json | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null);
