// The authorization server of an account's logins: its requests by RFC 6749 and RFC 8628, and the tokens in its answers.
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  customFetch,
  type DeviceAuthorizationResponse,
  deviceAuthorizationRequest,
  deviceCodeGrantRequest,
  None,
  OperationProcessingError,
  processDeviceAuthorizationResponse,
  ResponseBodyError,
  validateAuthResponse,
} from 'oauth4webapi';
import { Batches } from '../../../base/process/batch.ts';
import { isChallengePage } from '../../../turn/errors/challenge-page.ts';
import type { OauthCredential } from '../../../turn/settings.ts';
import { type CallAnswer, call } from '../../call.ts';
import { UndiciCarrier } from '../../carriers/undici-carrier.ts';
import type { Egress } from '../../egress/egress.ts';
import { codesIn } from '../token-endpoint.ts';
import { refreshedBy, type Tokens } from '../tokens.ts';
import { challenged, denied, malformedAnswer, otherState, refusedBy, unreachable } from './login-failed.ts';

/** The settings of a login, with the addresses to which requests are actually sent. */
export type LoginSettings = Omit<OauthCredential, 'file'>;

/** Sends a request of the login, and rejects if no answer came. */
type LoginCall = (url: string, headers: Readonly<Record<string, string>>, body: string) => Promise<CallAnswer>;

/**
 * `pending`: the code is not confirmed yet. `slow_down`: it is not confirmed yet, and the requests come too often. `expired`: it can no
 * longer be confirmed.
 */
export type DeviceAnswer = { readonly tokens: Tokens } | 'pending' | 'slow_down' | 'expired';

const BYTES = 262_144;
const MS = 15_000;
const NO_BYTES = Buffer.alloc(0);

export class AuthorizationServer {
  readonly settings: LoginSettings;
  readonly #now: () => number;
  readonly #call: LoginCall;

  /** @param now Unix milliseconds @param routeTo how the account's connections are made */
  constructor(settings: LoginSettings, { now, routeTo }: { readonly now: () => number; readonly routeTo: Egress['routeTo'] }) {
    this.settings = settings;
    this.#now = now;
    this.#call = callBy((url) => routeTo(url));
  }

  /** Asks for a device code (RFC 8628, 3.1). @throws LoginFailed */
  async deviceCode(url: string): Promise<DeviceAuthorizationResponse> {
    const answer = await this.#post(url, (options) => deviceAuthorizationRequest(this.#server, this.#client, None(), this.#scope, options));
    try {
      return await processDeviceAuthorizationResponse(this.#server, this.#client, responseOf(answer));
    } catch (thrown) {
      if (thrown instanceof ResponseBodyError) throw refusedBy(url, thrown.error);
      throw answer.status < 300 ? malformedAnswer(url, 'a device code') : refusedBy(url, wordOf(answer));
    }
  }

  /** Asks whether the code was confirmed (RFC 8628, 3.4). @throws LoginFailed */
  async deviceTokens(deviceCode: string): Promise<DeviceAnswer> {
    const { token_url } = this.settings;
    const answer = await this.#post(token_url, (options) =>
      deviceCodeGrantRequest(this.#server, this.#client, None(), deviceCode, options),
    );
    if (answer.status < 300) return { tokens: this.#tokensIn(answer) };
    const [code] = codesIn(answer.body).filter((one) => DEVICE_CODES.has(one));
    if (code === 'authorization_pending') return 'pending';
    if (code === 'slow_down') return 'slow_down';
    if (code === 'expired_token') return 'expired';
    if (code === 'access_denied') throw denied();
    // The code stays valid when the server is overloaded.
    if (answer.status >= 500 || answer.status === 429) throw unreachable(token_url, wordOf(answer));
    throw refusedBy(token_url, wordOf(answer));
  }

  /**
   * Exchanges the code of a callback (RFC 6749, 4.1.3; RFC 7636, 4.5).
   * @throws LoginFailed, also for a callback of another login and for a refusal
   */
  async codeTokens(
    callback: URLSearchParams,
    { state, verifier, redirectUrl }: { readonly state: string; readonly verifier: string; readonly redirectUrl: string },
  ): Promise<Tokens> {
    const { token_url, authorize_url = token_url } = this.settings;
    const parameters = new URLSearchParams(callback);
    // `iss` distinguishes several authorization servers of one client (RFC 9207). An account has only one, and no setting for its issuer.
    parameters.delete('iss');
    const validated = this.#validated(parameters, state, authorize_url);
    const answer = await this.#post(token_url, (options) =>
      authorizationCodeGrantRequest(this.#server, this.#client, None(), validated, redirectUrl, verifier, options),
    );
    if (answer.status < 300) return this.#tokensIn(answer);
    throw refusedBy(token_url, wordOf(answer));
  }

  #validated(parameters: URLSearchParams, state: string, url: string): URLSearchParams {
    try {
      const validated = validateAuthResponse(this.#server, this.#client, parameters, state);
      if (!validated.get('code')) throw malformedAnswer(url, 'a code');
      return validated;
    } catch (thrown) {
      if (thrown instanceof AuthorizationResponseError)
        throw thrown.error === 'access_denied' ? denied() : refusedBy(url, safeWord(thrown.error));
      if (thrown instanceof OperationProcessingError) throw otherState();
      throw thrown;
    }
  }

  #tokensIn(answer: CallAnswer): Tokens {
    const tokens = refreshedBy(answer.body, undefined, this.#now());
    if (!tokens) throw malformedAnswer(this.settings.token_url, 'an access token');
    return tokens;
  }

  async #post(url: string, request: (options: RequestOptions) => Promise<Response>): Promise<CallAnswer> {
    let answer: CallAnswer | undefined;
    const ask = async (_: string, { headers, body }: FetchOptions): Promise<Response> => {
      answer = await this.#call(url, headers, String(body));
      return responseOf(answer);
    };
    try {
      await request({ [customFetch]: ask, [allowInsecureRequests]: true });
    } catch (thrown) {
      if (answer === undefined) throw unreachable(url, reasonOf(thrown));
    }
    if (answer === undefined) throw unreachable(url, 'no answer');
    if (isChallengePage(answer.status, answer.headers, NO_BYTES)) throw challenged(url);
    return answer;
  }

  /** The server for the library, which identifies it by this address. `check` has refused plain http outside loopback. */
  get #server() {
    const { token_url, device_url, authorize_url } = this.settings;
    return {
      issuer: new URL(token_url).origin,
      token_endpoint: token_url,
      ...(device_url !== undefined && { device_authorization_endpoint: device_url }),
      ...(authorize_url !== undefined && { authorization_endpoint: authorize_url }),
    };
  }

  get #client() {
    return { client_id: this.settings.client_id };
  }

  get #scope(): URLSearchParams {
    const { scopes = [] } = this.settings;
    return new URLSearchParams(scopes.length > 0 ? { scope: scopes.join(' ') } : {});
  }
}

interface RequestOptions {
  readonly [customFetch]: (url: string, options: FetchOptions) => Promise<Response>;
  readonly [allowInsecureRequests]: true;
}

interface FetchOptions {
  readonly headers: Record<string, string>;
  readonly body: URLSearchParams | undefined;
}

/** Makes the function that sends requests. Each opens a new connection, because logins are rare. */
function callBy(routeTo: Egress['routeTo']): LoginCall {
  return async (url, headers, body) => {
    const { origin, pathname, search } = new URL(url);
    const carrier = new UndiciCarrier(origin, { connectMs: MS, firstByteMs: MS, idleMs: MS }, new Batches(), routeTo(url));
    try {
      const own = { ...headers, 'accept-encoding': 'identity' };
      return await call(carrier, { method: 'POST', path: pathname + search, headers: own, body }, { bytes: BYTES, ms: MS });
    } finally {
      void carrier.destroy();
    }
  };
}

/** The answer for the library, which expects JSON. The content type is set to JSON, whatever the server stated. */
function responseOf({ status, body }: CallAnswer): Response {
  const text = body === undefined ? null : JSON.stringify(body);
  return new Response([204, 205, 304].includes(status) ? null : text, { status, headers: { 'content-type': 'application/json' } });
}

const DEVICE_CODES: ReadonlySet<string> = new Set(['authorization_pending', 'slow_down', 'expired_token', 'access_denied']);

const wordOf = ({ status, body }: CallAnswer): string => safeWord(codesIn(body)[0] ?? `HTTP ${status}`);

/** An error code that can be repeated in a message. Any other text of an answer is replaced. */
const safeWord = (word: string): string => (/^[\w. -]{1,64}$/.test(word) ? word : 'an error');

const REASONS: Readonly<Record<string, string>> = {
  connect: 'no connection',
  connect_timeout: 'timeout',
  network: 'the connection was lost',
  malformed: 'its answer is not HTTP',
};

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'no answer';
  return thrown.name === 'TimeoutError' ? 'timeout' : (REASONS[thrown.message] ?? 'no answer');
}
