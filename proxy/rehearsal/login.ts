// The login of an account whose bearers are refreshed: refresh tokens that are good once, and access tokens that end.
import type { Json, JsonObject } from '../turn/json.ts';
import { isObject } from '../turn/json.ts';
import { ProviderError } from './errors.ts';
import type { Ids } from './ids.ts';
import { textOf } from './reading.ts';

export interface RehearsalLogin {
  /** What the operator's file begins with. */
  readonly refresh_token: string;
  /** A bearer that is good from the start. */
  readonly access_token?: string;
  /** The only client id that is served; default: any. */
  readonly client_id?: string;
  /** How long access tokens last, in seconds; default 3600. */
  readonly expires_in?: number;
}

export class Login {
  readonly #config: RehearsalLogin;
  readonly #tag: string;
  /** Bearers that are taken, and until when (Unix milliseconds). */
  readonly #bearers = new Map<string, number>();
  readonly #spent = new Set<string>();
  #refresh: string | undefined;

  constructor(config: RehearsalLogin, tag: string) {
    this.#config = config;
    this.#tag = tag;
    this.#refresh = config.refresh_token;
    if (config.access_token !== undefined) this.#bearers.set(config.access_token, Number.POSITIVE_INFINITY);
  }

  takes(authorization: string | undefined, now: number): boolean {
    return authorization?.startsWith('Bearer ') === true && (this.#bearers.get(authorization.slice(7)) ?? 0) > now;
  }

  /** Every access token given so far is stale; the refresh token is as good as before. */
  expire(): void {
    this.#bearers.clear();
  }

  /** The refresh token is good no more either, as after a log-out. */
  revoke(): void {
    this.expire();
    if (this.#refresh !== undefined) this.#spent.add(this.#refresh);
    this.#refresh = undefined;
  }

  /** The owner logs in again: the only good refresh token from now on. */
  renew(refresh: string): void {
    this.revoke();
    this.#refresh = refresh;
  }

  /**
   * Serves a refresh: the token that it was asked with is used up.
   * @throws ProviderError
   */
  refreshed(body: Json | undefined, ids: Ids, now: number): Readonly<Record<string, string | number>> {
    const { refresh_token, client_id, grant_type }: JsonObject = isObject(body) ? body : {};
    const asked = textOf(refresh_token);
    if (grant_type !== 'refresh_token' || asked === undefined) throw new ProviderError(400, 'invalid_request', 'No refresh was asked for.');
    if (this.#config.client_id !== undefined && client_id !== this.#config.client_id) {
      throw new ProviderError(400, 'invalid_client', 'The client is not known.');
    }
    if (this.#spent.has(asked)) throw new ProviderError(401, 'refresh_token_reused', 'The refresh token was used before.');
    if (asked !== this.#refresh) throw new ProviderError(400, 'invalid_grant', 'The refresh token is not valid.');
    this.#spent.add(asked);
    const seconds = this.#config.expires_in ?? 3600;
    const access = `at_${this.#tag}_${ids.number()}`;
    this.#refresh = `rt_${this.#tag}_${ids.number()}`;
    this.#bearers.set(access, now + seconds * 1000);
    return { access_token: access, refresh_token: this.#refresh, id_token: `it_${this.#tag}`, token_type: 'Bearer', expires_in: seconds };
  }
}
