// Finds the logins in a tokens file, in the forms that client programs write: flat or nested, in snake or camel case, one or several in a
// file.
import { membersIn, type TokenMembers } from '../../../config/token-members.ts';
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';

export interface FoundLogin {
  /** The tokens, with the names of a usual tokens file. */
  readonly tokens: Readonly<Record<string, string>>;
  /** Unix milliseconds, if the file states it. */
  readonly expiresAt: number | undefined;
}

/** The names of each member in the files of various programs. The first that is present counts. */
const NAMES: Readonly<Record<'access_token' | 'refresh_token' | 'id_token' | 'account_id', readonly string[]>> = {
  access_token: ['access_token', 'accessToken', 'access'],
  refresh_token: ['refresh_token', 'refreshToken', 'refresh'],
  id_token: ['id_token', 'idToken'],
  account_id: ['account_id', 'accountId'],
};

const EXPIRIES = ['expires_at', 'expiresAt', 'expiry_date', 'expires', 'expired'];

/** The depth that is searched. It is enough for `{ provider: { tokens: … } }` and for lists of such objects. */
const DEPTH = 3;

/** The logins in a JSON value. Every object with a refresh token is a login. Without a refresh token a login cannot be taken over. */
export function loginsIn(json: Json | undefined, depth = 0): readonly FoundLogin[] {
  if (Array.isArray(json)) return json.flatMap((one: Json) => loginsIn(one, depth + 1));
  if (!isObject(json)) return [];
  const own = loginOf(json);
  if (own) return [own];
  return depth >= DEPTH ? [] : Object.values(json).flatMap((value) => loginsIn(value, depth + 1));
}

function loginOf(json: JsonObject): FoundLogin | undefined {
  const usual = Object.fromEntries(Object.entries(NAMES).map(([name, others]) => [name, firstOf(json, others)]));
  const { access, refresh, id, account }: TokenMembers = membersIn(usual);
  if (refresh === undefined) return undefined;
  const tokens = { access_token: access, refresh_token: refresh, id_token: id, account_id: account };
  return {
    tokens: Object.fromEntries(Object.entries(tokens).filter((pair): pair is [string, string] => pair[1] !== undefined)),
    expiresAt: timeOf(firstOf(json, EXPIRIES)),
  };
}

const firstOf = (json: JsonObject, names: readonly string[]): Json | undefined =>
  json[names.find((name) => json[name] !== undefined) ?? ''];

/** Reads a time that is stated in seconds, in milliseconds, or as a date. */
function timeOf(value: Json | undefined): number | undefined {
  const time = typeof value === 'string' ? (/^\d+$/.test(value) ? Number(value) : Date.parse(value)) : value;
  if (typeof time !== 'number' || !Number.isFinite(time) || time <= 0) return undefined;
  return time < 1e11 ? time * 1000 : time;
}
