// Removes text that identifies the account or its owner, or repeats the prompt, from a provider's errors and from the ends of its replies
// (Q3, S4).
import { isList, isObject, type Json, type JsonObject, mapList, mapMembers } from '../json/json.ts';
import type { ProviderError } from './error-statement.ts';
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

/**
 * Members of a response that repeat the client's request or are the work itself. They are not sanitised: their texts are the client's own,
 * or were sent already.
 */
const CONTENT_MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'model',
  'instructions',
  'input',
  'output',
  'output_text',
  'tools',
  'tool_choice',
  'text',
  'include',
  'reasoning',
  'metadata',
  'client_metadata',
  'prompt',
  'prompt_cache_key',
  'previous_response_id',
  'conversation',
  'safety_identifier',
  'user',
  'data',
  'b64_json',
  'revised_prompt',
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

/** A character sequence that every match of these patterns contains. Most texts are a single word, and are not searched further. */
const MAY_NAME_OWNER = /[@:]|\d\.\d|eyJ|[-_][\w-]{4}/;

const MAX_TEXT = 2_000;

const REDACTED = '[redacted]';

/** @param secrets the account's credential and headers, which some providers repeat in their errors */
export function withoutOwner(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) if (clean.includes(secret)) clean = clean.replaceAll(secret, REDACTED);
  clean = clean.slice(0, MAX_TEXT);
  if (!MAY_NAME_OWNER.test(clean)) return clean;
  for (const pattern of OWNER_TEXTS) clean = clean.replace(pattern, REDACTED);
  return clean;
}

/** The shortest text that counts as a part of the prompt. Shorter texts are common words, which any prompt contains. */
const SHORTEST_ECHO = 12;

/** Texts that may repeat the prompt: quoted text, or a single long word. */
const ECHO = new RegExp(`(["'\`])((?:(?!\\1).){${SHORTEST_ECHO},}?)\\1|[^\\s"'\`]{${SHORTEST_ECHO},}`, 'g');

/** Removes parts of the prompt that the text repeats (S4), because an error's text may reach logs that do not belong to the client. */
function withoutEcho(text: string, prompt: string, param: string | null): string {
  return text.replace(ECHO, (found: string, _quote: string | undefined, quoted: string | undefined) => {
    const echo = quoted ?? found;
    return echo !== param && prompt.includes(echo) ? found.replace(echo, REDACTED) : found;
  });
}

/**
 * A provider's JSON without the members that identify the owner, and with sanitised strings. Returns the same object if nothing was
 * removed.
 */
export function jsonWithoutOwner(value: Json, secrets: readonly string[]): Json {
  return cleaned(value, (text) => withoutOwner(text, secrets));
}

type CleanText = (text: string) => string;

function cleaned(value: Json, clean: CleanText, depth = 0): Json {
  if (typeof value === 'string') return clean(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 32) return null;
  if (isList(value)) return mapList(value, (item) => cleaned(item, clean, depth + 1));
  return mapMembers(value, (member, name) => (OWNER_MEMBERS.has(name) ? undefined : cleaned(member, clean, depth + 1)));
}

/** The provider's `param` if it is a bounded path, else null (RM3, Q33). */
export function safeParam(param: string | null): string | null {
  return param !== null && /^[A-Za-z0-9_.[\]-]{1,200}$/.test(param) ? param : null;
}

/** The provider's code if it is an identifier, else null. */
export function safeCode(code: string | null): string | null {
  return code !== null && /^[A-Za-z0-9_.-]{1,64}$/.test(code) ? code : null;
}

/**
 * The event or the answer that ends a reply, without what it reveals about the account (Q3). Returns the same object if nothing was
 * removed. Content is not changed, and the headers in a native event have a list of their own.
 */
export function endWithoutOwner(end: JsonObject, secrets: readonly string[]): JsonObject {
  return cleanEnd(end, (text) => withoutOwner(text, secrets), HEADERS);
}

const HEADERS: ReadonlySet<string> = new Set(['headers']);
const NONE: ReadonlySet<string> = new Set();

function cleanEnd(end: JsonObject, clean: CleanText, kept: ReadonlySet<string>): JsonObject {
  return mapMembers(end, (member, name) => {
    if (kept.has(name) || CONTENT_MEMBERS.has(name)) return member;
    if (name === 'response' && isObject(member)) return cleanEnd(member, clean, NONE);
    return OWNER_MEMBERS.has(name) ? undefined : cleaned(member, clean);
  });
}

/** The event or the answer that ends a reply of the compatible surface. */
export const publicEnd = (end: JsonObject, secrets: readonly string[]): JsonObject =>
  cleanEnd(end, (text) => withoutOwner(text, secrets), NONE);

/**
 * A failure event of the compatible surface. It has only the members of error events (Q2), or is a failed response with the error's code
 * and message.
 */
export function publicFailure(data: JsonObject, error: ProviderError, known: Confidential): JsonObject {
  const { response, sequence_number } = data;
  const { code, type, param, message } = publicError(error, known);
  if (isObject(response)) {
    const [secrets, prompt] = [known.secrets(), known.prompt()];
    const shown = cleanEnd(data, (text) => withoutEcho(withoutOwner(text, secrets), prompt, error.param), NONE);
    return { ...shown, response: { ...(isObject(shown.response) ? shown.response : {}), error: { code, message } } };
  }
  const numbered = sequence_number === undefined ? {} : { sequence_number };
  return { type: 'error', ...numbered, code, message, param, error: { message, type, code, param } };
}

/** Texts that no error may contain: the account's secrets and the client's prompt. They are computed on demand, because errors are rare. */
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
