// Takes out of a provider's error what identifies the account or its owner (Q3).

import type { ProviderError } from './failure.ts';
import type { Json, JsonObject } from './json.ts';
import { isObject } from './json.ts';
import type { ErrorBody } from './refusal.ts';
import type { Body } from './turn.ts';

/** Members that say whose account it is, at any depth. */
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

/** @param secrets what the account was sent of its own, which some providers repeat in their errors */
export function withoutOwner(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, REDACTED);
  clean = clean.slice(0, MAX_TEXT);
  for (const pattern of OWNER_TEXTS) clean = clean.replace(pattern, REDACTED);
  return clean;
}

/** Shorter texts are words of anybody's. */
const SHORTEST_ECHO = 12;

/** What an echo is made of: something in quotes, or a word that is long for a word. */
const ECHO = new RegExp(`(["'\`])((?:(?!\\1).){${SHORTEST_ECHO},}?)\\1|[^\\s"'\`]{${SHORTEST_ECHO},}`, 'g');

/** Less what it repeats of the prompt (S4): an error's text ends in more logs than the client's own. */
function withoutEcho(text: string, prompt: string, param: string | null): string {
  return text.replace(ECHO, (found: string, _quote: string | undefined, quoted: string | undefined) => {
    const said = quoted ?? found;
    return said !== param && prompt.includes(said) ? found.replace(said, REDACTED) : found;
  });
}

/** A provider's JSON less the owner's members, its strings sanitised. */
export function jsonWithoutOwner(value: Json, secrets: readonly string[], depth = 0): Json {
  if (typeof value === 'string') return withoutOwner(value, secrets);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 32) return null;
  if (Array.isArray(value)) return value.map((item: Json) => jsonWithoutOwner(item, secrets, depth + 1));
  const kept: Record<string, Json> = {};
  for (const [name, member] of Object.entries(value as JsonObject)) {
    if (!OWNER_MEMBERS.has(name) && member !== undefined) kept[name] = jsonWithoutOwner(member, secrets, depth + 1);
  }
  return kept;
}

/** RM3, Q33: what of a provider's `param` may be kept and shown. */
export function safeParam(param: string | null): string | null {
  return param !== null && /^[A-Za-z0-9_.[\]-]{1,200}$/.test(param) ? param : null;
}

/** A code is an identifier, or it is nothing. */
export function safeCode(code: string | null): string | null {
  return code !== null && /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : null;
}

/** A native failure event less what its error says of the account (Q3); the very same object where that is nothing. */
export function failureWithoutOwner(data: JsonObject, secrets: readonly string[]): JsonObject {
  const clean: Body = { ...data };
  const { error, message, response } = data;
  if (error !== undefined) clean.error = jsonWithoutOwner(error, secrets);
  if (typeof message === 'string') clean.message = withoutOwner(message, secrets);
  if (isObject(response) && response.error !== undefined) {
    clean.response = { ...response, error: jsonWithoutOwner(response.error, secrets) };
  }
  return JSON.stringify(clean) === JSON.stringify(data) ? data : clean;
}

/** The same for the compatible surface: only the members that its error events have (Q2). */
export function publicFailure(data: JsonObject, error: ProviderError, known: Confidential): JsonObject {
  const { response, sequence_number } = data;
  const { code, type, param, message } = publicError(error, known);
  if (isObject(response)) return { ...data, response: { ...response, error: { code, message } } };
  const numbered = sequence_number === undefined ? {} : { sequence_number };
  return { type: 'error', ...numbered, code, message, param, error: { message, type, code, param } };
}

/** What a turn knows that no error may say: the account's secrets, and the words of its client. */
export interface Confidential {
  secrets(): readonly string[];
  prompt(): string;
}

/** A provider's error with the four keys that every error has (Q1), each of them safe to show. */
export function publicError({ code, type, param, message }: ProviderError, known: Confidential): ErrorBody & JsonObject {
  return {
    message:
      message === null ? 'The provider refused the request.' : withoutEcho(withoutOwner(message, known.secrets()), known.prompt(), param),
    type: safeCode(type) ?? 'server_error',
    code: safeCode(code),
    param: safeParam(param),
  };
}
