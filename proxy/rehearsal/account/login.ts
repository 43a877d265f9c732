// The token endpoint of a simulated account: refresh tokens that work once, and access tokens that expire.
import type { Json, JsonObject } from '../../turn/json/json.ts';
import { asString, isObject } from '../../turn/json/json.ts';
import type { IdSequence } from '../model/id-sequence.ts';
import { ProviderError } from '../provider-error.ts';

export interface RehearsalLogin {
  /** The first refresh token, as in the operator's file. */
  readonly refresh_token: string;
  /** A bearer that works from the start. */
  readonly access_token?: string;
  /** The only client id that is accepted; default: any. */
  readonly client_id?: string;
  /** Lifetime of access tokens in seconds; default 3600. */
  readonly expires_in?: number;
}

export class Login {
  readonly #settings: RehearsalLogin;
  readonly #tag: string;
  /** Accepted bearers, and their expiry in Unix milliseconds. */
  readonly #bearers = new Map<string, number>();
  readonly #spent = new Set<string>();
  #refresh: string | undefined;

  constructor(settings: RehearsalLogin, tag: string) {
    this.#settings = settings;
    this.#tag = tag;
    this.#refresh = settings.refresh_token;
    if (settings.access_token !== undefined) this.#bearers.set(settings.access_token, Number.POSITIVE_INFINITY);
  }

  accepts(authorization: string | undefined, now: number): boolean {
    return authorization?.startsWith('Bearer ') === true && (this.#bearers.get(authorization.slice(7)) ?? 0) > now;
  }

  /** Expires every access token issued so far; the refresh token stays valid. */
  expire(): void {
    this.#bearers.clear();
  }

  /** Invalidates the refresh token too, as a log-out does. */
  revoke(): void {
    this.expire();
    if (this.#refresh !== undefined) this.#spent.add(this.#refresh);
    this.#refresh = undefined;
  }

  /** Logs in again: `refresh` is the only valid refresh token from now on. */
  renew(refresh: string): void {
    this.revoke();
    this.#refresh = refresh;
  }

  /**
   * Answers a refresh request and spends its refresh token.
   * @throws ProviderError
   */
  refreshed(body: Json | undefined, ids: IdSequence, now: number): Readonly<Record<string, string | number>> {
    const { refresh_token, client_id, grant_type }: JsonObject = isObject(body) ? body : {};
    const asked = asString(refresh_token);
    if (grant_type !== 'refresh_token' || asked === undefined) {
      throw new ProviderError(400, 'invalid_request', 'A refresh_token grant is required.');
    }
    if (this.#settings.client_id !== undefined && client_id !== this.#settings.client_id) {
      throw new ProviderError(400, 'invalid_client', 'The client is not known.');
    }
    if (this.#spent.has(asked)) throw new ProviderError(401, 'refresh_token_reused', 'The refresh token was used before.');
    if (asked !== this.#refresh) throw new ProviderError(400, 'invalid_grant', 'The refresh token is not valid.');
    this.#spent.add(asked);
    const seconds = this.#settings.expires_in ?? 3600;
    const access = `at_${this.#tag}_${ids.nextNumber()}`;
    this.#refresh = `rt_${this.#tag}_${ids.nextNumber()}`;
    this.#bearers.set(access, now + seconds * 1000);
    return { access_token: access, refresh_token: this.#refresh, id_token: `it_${this.#tag}`, token_type: 'Bearer', expires_in: seconds };
  }
}
