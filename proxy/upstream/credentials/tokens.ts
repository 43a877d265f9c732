// The tokens of an OAuth account, parsed from the operator's file, an answer of the token endpoint, or the store.
import { membersIn, membersOfFile, type TokenMembers, textOf } from '../../config/token-members.ts';
import { isObject, type JsonObject, parsedObject } from '../../turn/json/json.ts';

export interface Tokens extends TokenMembers {
  /** When the tokens were obtained, in Unix milliseconds. */
  readonly at: number;
  /** The expiry of the access token in Unix milliseconds; undefined if it is not stated. */
  readonly expiresAt: number | undefined;
}

const EARLY_MS = 300_000;

/** The tokens in the operator's file. Undefined if it has neither an access token nor a refresh token. */
export function fileTokens(json: unknown, now: number): Tokens | undefined {
  const members = membersOfFile(json);
  return members && { ...members, at: now, expiresAt: members.access === undefined ? undefined : endOf(members.access) };
}

/** The known tokens before a login. */
const NO_TOKENS: TokenMembers = { access: undefined, refresh: undefined, id: undefined, account: undefined };

/**
 * The tokens in the endpoint's answer, which may omit unchanged ones. Undefined for any other answer.
 * @param used the tokens of the refresh; absent at a login
 */
export function refreshedBy(json: unknown, used: TokenMembers | undefined, now: number): Tokens | undefined {
  if (!isObject(json)) return undefined;
  const known = used ?? NO_TOKENS;
  const { access, refresh, id } = membersIn(json);
  if (access === undefined) return undefined;
  const seconds = json.expires_in;
  const stated = typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? now + seconds * 1000 : undefined;
  return {
    access,
    refresh: refresh ?? known.refresh,
    id: identifying(id, known.id),
    account: known.account,
    at: now,
    expiresAt: earlier(endOf(access), stated),
  };
}

/**
 * The known tokens with the new refresh token of an answer that has no access token. The refresh token that was sent is used up (RB6).
 * Undefined for any other answer.
 */
export function rotatedBy(json: unknown, used: Tokens): Tokens | undefined {
  const { access, refresh } = isObject(json) ? membersIn(json) : NO_TOKENS;
  return access === undefined && refresh !== undefined ? { ...used, refresh } : undefined;
}

/**
 * The new id token, unless it has no claims and the known one has. A token without claims must not replace one that identifies the user.
 */
function identifying(id: string | undefined, known: string | undefined): string | undefined {
  if (id === undefined || known === undefined) return id ?? known;
  return claimsOf(id) === undefined && claimsOf(known) !== undefined ? known : id;
}

/** Parses tokens that `JSON.stringify` wrote. */
export function parseTokens(text: string): Tokens | undefined {
  const json: unknown = JSON.parse(text);
  if (!isObject(json)) return undefined;
  const { access, refresh, id, account, at, expiresAt } = json;
  return {
    access: textOf(access),
    refresh: textOf(refresh),
    id: textOf(id),
    account: textOf(account),
    at: typeof at === 'number' ? at : 0,
    expiresAt: typeof expiresAt === 'number' ? expiresAt : undefined,
  };
}

/**
 * Stored tokens by the clock of this process. If the stored time is in the future, because a clock was set back or is ahead, it and the
 * expiry are moved back by the difference.
 */
export function storedBy(now: number, tokens: Tokens): Tokens {
  const ahead = tokens.at - now;
  if (ahead <= 0) return tokens;
  return { ...tokens, at: now, expiresAt: tokens.expiresAt === undefined ? undefined : tokens.expiresAt - ahead };
}

/**
 * Whether the tokens are due for renewal: five minutes before expiry, or after half of a shorter life, so that a short-lived token is not
 * always due.
 */
export function isDue({ at, expiresAt }: Tokens, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt - Math.min(EARLY_MS, (expiresAt - at) / 2);
}

/** The `exp` of a JSON web token; undefined for other tokens. */
function endOf(token: string): number | undefined {
  const exp = claimsOf(token)?.exp;
  return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : undefined;
}

/**
 * The claims of a JSON web token; undefined for other tokens. The signature is not verified, because the token came from its provider over
 * TLS, or from the operator.
 */
export function claimsOf(token: string): JsonObject | undefined {
  const payload = token.split('.')[1];
  return payload === undefined ? undefined : parsedObject(Buffer.from(payload, 'base64url').toString('utf8'));
}

const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
