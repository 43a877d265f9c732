// The tokens of an OAuth account, parsed from the operator's file, an answer of the token endpoint, or the store.
import { membersIn, membersOfFile, type TokenMembers, textOf } from '../../config/token-members.ts';
import { isObject } from '../../turn/json/json.ts';

export interface Tokens extends TokenMembers {
  /** When these were obtained, Unix milliseconds. */
  readonly at: number;
  /** Expiry of the access token, Unix milliseconds; undefined where it is not stated. */
  readonly expiresAt: number | undefined;
}

const EARLY_MS = 300_000;

/** The tokens in the operator's file. Undefined where it holds neither an access nor a refresh token. */
export function tokensIn(json: unknown, now: number): Tokens | undefined {
  const members = membersOfFile(json);
  return members && { ...members, at: now, expiresAt: members.access === undefined ? undefined : endOf(members.access) };
}

/** The tokens in the endpoint's answer, which may omit unchanged ones. Undefined for any other answer. */
export function refreshedBy(json: unknown, used: Tokens, now: number): Tokens | undefined {
  if (!isObject(json)) return undefined;
  const { access, refresh, id } = membersIn(json);
  if (access === undefined) return undefined;
  const seconds = json.expires_in;
  const stated = typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? now + seconds * 1000 : undefined;
  return {
    access,
    refresh: refresh ?? used.refresh,
    id: id ?? used.id,
    account: used.account,
    at: now,
    expiresAt: earlier(endOf(access), stated),
  };
}

/** Parses tokens that `JSON.stringify` wrote. */
export function tokensOf(text: string): Tokens | undefined {
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
 * Stored tokens by the clock of this process: where they were stored later than now, by a clock that was set back since or is ahead, they
 * expire as much earlier.
 */
export function storedBy(now: number, tokens: Tokens): Tokens {
  const ahead = tokens.at - now;
  if (ahead <= 0) return tokens;
  return { ...tokens, at: now, expiresAt: tokens.expiresAt === undefined ? undefined : tokens.expiresAt - ahead };
}

/** Due five minutes before expiry, or after half of a shorter life, so that a short-lived token is not always due. */
export function isDue({ at, expiresAt }: Tokens, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt - Math.min(EARLY_MS, (expiresAt - at) / 2);
}

/** The `exp` of a JSON web token; undefined for other tokens. Nothing is verified: the provider does that. */
function endOf(token: string): number | undefined {
  const payload = token.split('.')[1];
  if (payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const exp = isObject(claims) ? claims.exp : undefined;
    return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}

const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
