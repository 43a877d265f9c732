// The token endpoint of a simulated account. Its refresh tokens work once, and its access tokens expire.
import { asString, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { IdSequence } from '../model/id-sequence.ts';
import { SimulatedError } from '../provider-error.ts';

const REUSED = 'Your refresh token has already been used to generate a new access token. Please try signing in again.';

export interface RehearsalLogin {
  /** The first refresh token, as in the operator's file. Absent if the account's first login begins at its authorization server. */
  readonly refresh_token?: string;
  /** A bearer that is accepted from the start. */
  readonly access_token?: string;
  /** The only client id that is accepted. Default: any. */
  readonly client_id?: string;
  /** The lifetime of access tokens in seconds. Default: 3600. */
  readonly expires_in?: number;
  /**
   * Whether refresh tokens are accepted that an earlier run of the provider issued for this account. A gateway keeps them over a restart.
   */
  readonly acceptsEarlier?: boolean;
}

/** The user of a login, with the claims of the id token. */
export interface LoginUser {
  readonly sub: string;
  readonly email: string;
}

/** The answer of the token endpoint. */
export type IssuedTokens = Readonly<Record<string, string | number>>;

export class SimulatedLogin {
  readonly #settings: RehearsalLogin;
  readonly #tag: string;
  /** Accepted bearers, each with its expiry in Unix milliseconds. */
  readonly #bearers = new Map<string, number>();
  readonly #spent = new Set<string>();
  /** The refresh tokens of former logins. */
  readonly #former = new Set<string>();
  readonly #isWhole: boolean;
  /** The valid refresh tokens. Those that the authorization server issued have their users. */
  readonly #valid = new Map<string, LoginUser | undefined>();
  #ended: 'token_invalidated' | 'token_revoked' | undefined;

  /** @param isWhole whether a refresh token that is used twice ends the login with all its bearers (RB6) */
  constructor(settings: RehearsalLogin, tag: string, isWhole: boolean) {
    this.#settings = settings;
    this.#tag = tag;
    this.#isWhole = isWhole;
    if (settings.refresh_token !== undefined) this.#valid.set(settings.refresh_token, undefined);
    if (settings.access_token !== undefined) this.#bearers.set(settings.access_token, Number.POSITIVE_INFINITY);
  }

  /** The reason why bearers of the login are no longer accepted. Undefined while the login can be refreshed. */
  get ended(): 'token_invalidated' | 'token_revoked' | undefined {
    return this.#ended;
  }

  accepts(authorization: string | undefined, now: number): boolean {
    return authorization?.startsWith('Bearer ') === true && (this.#bearers.get(authorization.slice(7)) ?? 0) > now;
  }

  /** Whether access tokens are accepted only after the next refresh. */
  get isExpired(): boolean {
    return this.#bearers.size === 0;
  }

  /** Expires every access token that was issued. The refresh token stays valid. */
  expire(): void {
    this.#bearers.clear();
  }

  /** Invalidates the refresh token too, as a log-out does. */
  revoke(): void {
    this.#end('token_revoked');
  }

  /** Logs in again: `refresh` is the only valid refresh token from now on. */
  renew(refresh: string): void {
    this.revoke();
    for (const token of this.#spent) this.#former.add(token);
    this.#spent.clear();
    this.#valid.set(refresh, undefined);
    this.#ended = undefined;
  }

  /** Whether a client id is one that the account accepts. */
  knows(clientId: unknown): boolean {
    return this.#settings.client_id === undefined || clientId === this.#settings.client_id;
  }

  /** Issues the tokens of a login at the authorization server. Earlier logins stay valid. */
  issued(user: LoginUser, ids: IdSequence, now: number): IssuedTokens {
    this.#ended = undefined;
    return this.#tokens(user, ids, now);
  }

  /**
   * Answers a refresh request and spends its refresh token.
   * @throws SimulatedError
   */
  refreshed(body: Json | undefined, ids: IdSequence, now: number): IssuedTokens {
    const { refresh_token, client_id, grant_type }: JsonObject = isObject(body) ? body : {};
    const asked = asString(refresh_token);
    if (grant_type !== 'refresh_token' || asked === undefined) {
      throw new SimulatedError(400, 'invalid_request', 'A refresh_token grant is required.');
    }
    if (!this.knows(client_id)) {
      throw new SimulatedError(400, 'invalid_client', 'The client is not known.');
    }
    if (this.#former.has(asked)) throw new SimulatedError(401, 'refresh_token_invalidated', 'The refresh token was invalidated.');
    if (this.#spent.has(asked)) {
      if (this.#isWhole) this.#end('token_invalidated');
      throw new SimulatedError(401, 'refresh_token_reused', REUSED);
    }
    if (!this.#valid.has(asked) && !this.#isEarlier(asked)) {
      if (!this.#isWhole) throw new SimulatedError(400, 'invalid_grant', 'The refresh token is not valid.');
      throw new SimulatedError(401, 'token_expired', 'Could not validate your token. Please try signing in again.');
    }
    const user = this.#valid.get(asked);
    this.#valid.delete(asked);
    this.#spent.add(asked);
    return this.#tokens(user, ids, now);
  }

  #tokens(user: LoginUser | undefined, ids: IdSequence, now: number): IssuedTokens {
    const seconds = this.#settings.expires_in ?? 3600;
    const access = `at_${this.#tag}_${ids.nextNumber()}`;
    const refresh = `rt_${this.#tag}_${ids.nextNumber()}`;
    this.#valid.set(refresh, user);
    this.#bearers.set(access, now + seconds * 1000);
    const id = user === undefined ? `it_${this.#tag}` : idToken(user, { seconds, now, audience: this.#settings.client_id });
    return { access_token: access, refresh_token: refresh, id_token: id, token_type: 'Bearer', expires_in: seconds };
  }

  #isEarlier(refresh: string): boolean {
    return this.#settings.acceptsEarlier === true && refresh.startsWith(`rt_${this.#tag}_`);
  }

  #end(why: 'token_invalidated' | 'token_revoked'): void {
    this.expire();
    for (const refresh of this.#valid.keys()) this.#spent.add(refresh);
    this.#valid.clear();
    this.#ended = why;
  }
}

/** A JSON web token without a signature (RFC 7519, 6.1). The client gets it from the token endpoint, and has no key to check it. */
function idToken(
  user: LoginUser,
  { seconds, now, audience }: { readonly seconds: number; readonly now: number; readonly audience: string | undefined },
): string {
  const iat = Math.floor(now / 1000);
  const claims = { iss: 'https://rehearsal.invalid', aud: audience ?? 'any', iat, exp: iat + seconds, ...user };
  return `${[{ alg: 'none', typ: 'JWT' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
}
