// Reads the members of an account's tokens file in its two usual forms: `{tokens: {access_token, refresh_token, …}}` and the flat one.
import { isObject } from '../turn/json/json.ts';

export interface TokenMembers {
  /** The access token. Undefined before the first refresh if the file has none. */
  readonly access: string | undefined;
  /** The refresh token, which is valid for one refresh. Undefined if the login cannot be refreshed. */
  readonly refresh: string | undefined;
  /** The id token, which is kept for the operator and for tools, and never sent. */
  readonly id: string | undefined;
  readonly account: string | undefined;
}

/** Undefined if the file has neither an access token nor a refresh token. */
export function membersOfFile(json: unknown): TokenMembers | undefined {
  if (!isObject(json)) return undefined;
  const members = membersIn(isObject(json.tokens) ? json.tokens : json);
  return members.access === undefined && members.refresh === undefined ? undefined : members;
}

export function membersIn(json: Readonly<Record<string, unknown>>): TokenMembers {
  return {
    access: bearerOf(json.access_token),
    refresh: textOf(json.refresh_token),
    id: textOf(json.id_token),
    account: textOf(json.account_id),
  };
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** The access token. Undefined for text that a header cannot carry. */
const bearerOf = (value: unknown): string | undefined => (typeof value === 'string' && /^[!-~]+$/.test(value) ? value : undefined);
