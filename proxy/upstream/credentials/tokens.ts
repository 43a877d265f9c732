// The tokens of an OAuth account: read from the operator's file, from an answer of the token endpoint, and from the store.

export interface Tokens {
  /** Absent where only a refresh can bring one. */
  readonly access: string | undefined;
  /** Absent where nothing can be refreshed. Good for one refresh. */
  readonly refresh: string | undefined;
  /** Kept for the operator and for tools; never sent. */
  readonly id: string | undefined;
  readonly account: string | undefined;
  /** When these were obtained, Unix milliseconds. */
  readonly at: number;
  /** When the access token ends; undefined where nobody said. */
  readonly expiresAt: number | undefined;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * The usual shapes: `{tokens: {access_token, refresh_token, account_id, id_token}}` and the flat one.
 * @returns undefined where it holds neither an access nor a refresh token
 */
export function tokensIn(json: unknown, now: number): Tokens | undefined {
  if (!isObject(json)) return undefined;
  const members = isObject(json.tokens) ? json.tokens : json;
  const tokens = { ...texts(members), at: now };
  if (tokens.access === undefined && tokens.refresh === undefined) return undefined;
  return { ...tokens, expiresAt: tokens.access === undefined ? undefined : endOf(tokens.access) };
}

/** What the endpoint answered to these tokens' refresh: it may leave out what stays. Undefined where it is no such answer. */
export function refreshedBy(json: unknown, used: Tokens, now: number): Tokens | undefined {
  if (!isObject(json)) return undefined;
  const { access, refresh, id } = texts(json);
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

/** What `JSON.stringify` made of tokens. */
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

function texts(members: Members): Pick<Tokens, 'access' | 'refresh' | 'id' | 'account'> {
  return {
    access: bearerOf(members.access_token),
    refresh: textOf(members.refresh_token),
    id: textOf(members.id_token),
    account: textOf(members.account_id),
  };
}

/** The `exp` of a JSON web token; undefined for tokens of any other make. Nothing is verified: the provider does that. */
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

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** An access token goes into a header: what no header carries is none. */
const bearerOf = (value: unknown): string | undefined => (typeof value === 'string' && /^[!-~]+$/.test(value) ? value : undefined);
