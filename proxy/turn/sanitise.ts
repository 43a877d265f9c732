// Removes from a provider's error whatever identifies the account or its owner, or repeats the prompt (Q3, S4).

import type { ProviderError } from './error-statement.ts';
import { isList, isObject, type Json, type JsonObject, mapList } from './json.ts';
import type { ErrorBody } from './refusal.ts';

/** Members that identify the account's owner, at any depth. */
const OWNER_MEMBERS = new Set([
  'account',
  'account_id',
  'user',
  'user_id',
  'email',
  'org',
  'org_id',
  'organization',
  'organization_id',
  'project',
  'project_id',
  'plan_type',
  'request_id',
  'ray_id',
  'ip',
  'ip_address',
  'cookie',
  'cookies',
  'headers',
  'authorization',
  'api_key',
]);

const OWNER_TEXTS: readonly RegExp[] = [
  /[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+/g, // mail addresses
  /\b(?:org|user|acct|account|proj|team|ws|req|key)[-_][A-Za-z0-9-]{6,}\b/g, // ids with their usual prefixes
  /\b(?:sk|pk|rt|sess)-[A-Za-z0-9_-]{6,}/g, // keys, also shortened ones
  /\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*/g, // JSON web tokens
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
  /\b(?:\d{1,3}\.){3}\d{1,3}\b/g,
  /\bhttps?:\/\/\S+/g, // pages of the owner's console
];

const MAX_TEXT = 2_000;

const REDACTED = '[redacted]';

/** @param secrets the account's own credential and headers, which some providers repeat in their errors */
export function withoutOwner(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, REDACTED);
  clean = clean.slice(0, MAX_TEXT);
  for (const pattern of OWNER_TEXTS) clean = clean.replace(pattern, REDACTED);
  return clean;
}

/** Shorter texts are common words, which a prompt contains anyway. */
const SHORTEST_ECHO = 12;

/** The candidates for an echo: quoted text, or a single long word. */
const ECHO = new RegExp(`(["'\`])((?:(?!\\1).){${SHORTEST_ECHO},}?)\\1|[^\\s"'\`]{${SHORTEST_ECHO},}`, 'g');

/** Removes parts of the prompt that the text repeats (S4): an error's text reaches other logs than the client's own. */
function withoutEcho(text: string, prompt: string, param: string | null): string {
  return text.replace(ECHO, (found: string, _quote: string | undefined, quoted: string | undefined) => {
    const echo = quoted ?? found;
    return echo !== param && prompt.includes(echo) ? found.replace(echo, REDACTED) : found;
  });
}

/** A provider's JSON without the owner's members, its strings sanitised; the same object where nothing was removed. */
export function jsonWithoutOwner(value: Json, secrets: readonly string[], depth = 0): Json {
  if (typeof value === 'string') return withoutOwner(value, secrets);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 32) return null;
  if (isList(value)) return mapList(value, (item) => jsonWithoutOwner(item, secrets, depth + 1));
  const kept: Record<string, Json> = {};
  let removed = false;
  for (const [name, member] of Object.entries(value)) {
    if (OWNER_MEMBERS.has(name) || member === undefined) {
      removed = true;
      continue;
    }
    kept[name] = jsonWithoutOwner(member, secrets, depth + 1);
    removed ||= kept[name] !== member;
  }
  return removed ? kept : value;
}

/** The provider's `param` where it is a bounded path, else null (RM3, Q33). */
export function safeParam(param: string | null): string | null {
  return param !== null && /^[A-Za-z0-9_.[\]-]{1,200}$/.test(param) ? param : null;
}

/** The provider's code where it is an identifier, else null. */
export function safeCode(code: string | null): string | null {
  return code !== null && /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : null;
}

/**
 * A native failure event without its headers, and without what its error reveals about the account (Q3); the same object where nothing was
 * removed.
 */
export function failureWithoutOwner(data: JsonObject, secrets: readonly string[]): JsonObject {
  const { message, response } = data;
  let clean = data.type === 'error' ? withCleanMembers(data, secrets) : withCleanError(data, secrets);
  const text = typeof message === 'string' ? withoutOwner(message, secrets) : message;
  if (text !== message) clean = { ...clean, message: text };
  const inner = isObject(response) ? withCleanError(response, secrets) : response;
  return inner === response ? clean : { ...clean, response: inner };
}

/** All of an `error` event is about its error. Its headers have a list of their own. */
function withCleanMembers(event: JsonObject, secrets: readonly string[]): JsonObject {
  const { headers, ...members } = event;
  const clean = jsonWithoutOwner(members, secrets);
  if (clean === members || !isObject(clean)) return event;
  return headers === undefined ? clean : { ...clean, headers };
}

function withCleanError(object: JsonObject, secrets: readonly string[]): JsonObject {
  const error = object.error === undefined ? undefined : jsonWithoutOwner(object.error, secrets);
  return error === object.error ? object : { ...object, error };
}

/** The same for the compatible surface: only the members of its error events (Q2). */
export function publicFailure(data: JsonObject, error: ProviderError, known: Confidential): JsonObject {
  const { response, sequence_number } = data;
  const { code, type, param, message } = publicError(error, known);
  if (isObject(response)) return { ...data, response: { ...response, error: { code, message } } };
  const numbered = sequence_number === undefined ? {} : { sequence_number };
  return { type: 'error', ...numbered, code, message, param, error: { message, type, code, param } };
}

/** Texts that no error may contain: the account's secrets and the client's prompt. Computed on demand, because errors are rare. */
export interface Confidential {
  secrets(): readonly string[];
  prompt(): string;
}

/** A provider's error with the four keys of every error (Q1), each of them sanitised. */
export function publicError({ code, type, param, message }: ProviderError, known: Confidential): ErrorBody & JsonObject {
  return {
    message:
      message === null ? 'The provider refused the request.' : withoutEcho(withoutOwner(message, known.secrets()), known.prompt(), param),
    type: safeCode(type) ?? 'server_error',
    code: safeCode(code),
    param: safeParam(param),
  };
}
