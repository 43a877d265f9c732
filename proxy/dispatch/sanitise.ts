// Takes out of a provider's error what identifies the account or its owner (Q3).
import type { Json, JsonObject } from '../turn.ts';

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

export function withoutOwner(text: string): string {
  let clean = text.slice(0, MAX_TEXT);
  for (const pattern of OWNER_TEXTS) clean = clean.replace(pattern, '[redacted]');
  return clean;
}

/** A provider's JSON less the owner's members, its strings sanitised. */
export function jsonWithoutOwner(value: Json, depth = 0): Json {
  if (typeof value === 'string') return withoutOwner(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 32) return null;
  if (Array.isArray(value)) return value.map((item: Json) => jsonWithoutOwner(item, depth + 1));
  const kept: Record<string, Json> = {};
  for (const [name, member] of Object.entries(value as JsonObject)) {
    if (!OWNER_MEMBERS.has(name) && member !== undefined) kept[name] = jsonWithoutOwner(member, depth + 1);
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
