// A login with a browser: the authorization code grant with PKCE (RFC 6749, 4.1; RFC 7636). The callback comes to loopback, or a person
// pastes it.
import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi';
import type { OauthCredential } from '../../../turn/settings.ts';
import type { Tokens } from '../tokens.ts';
import type { AuthorizationServer } from './authorization-server.ts';

export interface CodeLogin {
  /** The address that a person opens in a browser. */
  readonly url: string;
  /** The address to which the browser is sent back. */
  readonly redirectUrl: string;
  /**
   * The callback in a text that a person pastes: the address at which the browser ended, or the code that the provider shows, which may be
   * followed by `#` and the state. Undefined if the text contains neither.
   */
  pasted(text: string): URL | undefined;
  /** Whether the callback belongs to this login. */
  isOwn(callback: URL): boolean;
  /**
   * @param callback the address that the browser was sent back to
   * @throws LoginFailed
   */
  finish(callback: URL): Promise<Tokens>;
}

/** The longest wait for the callback of a browser. */
export const CALLBACK_MS = 600_000;

/** What a person is asked to paste. */
export const PASTED = 'the address at which the browser ended, which has a code=… in it, or the code that the provider shows';

const DEFAULT_REDIRECT = 'http://127.0.0.1:0/callback';

/** The address to which the browser is sent back. */
export const redirectOf = ({ redirect_url = DEFAULT_REDIRECT }: Pick<OauthCredential, 'redirect_url'>): string => redirect_url;

/** The redirect address if nothing listens there. The browser shows an error page, and its address contains the code. */
export function pastedRedirectOf(oauth: Pick<OauthCredential, 'redirect_url'>): string {
  const redirect = new URL(redirectOf(oauth));
  if (redirect.port === '0') redirect.port = '';
  return redirect.href;
}

/** Matches a code, with the state after `#` if there is one. */
const CODE = /^([\w.~+/=-]{8,2048})(?:#([\w.~+/=-]{1,512}))?$/;

/** @param redirectUrl the address to which the callback comes, with the actual port */
export async function codeLogin(server: AuthorizationServer, authorizeUrl: string, redirectUrl: string): Promise<CodeLogin> {
  const { client_id, scopes = [] } = server.settings;
  const verifier = generateRandomCodeVerifier();
  const state = generateRandomState();
  const url = new URL(authorizeUrl);
  const parameters = {
    response_type: 'code',
    client_id,
    redirect_uri: redirectUrl,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return {
    url: url.href,
    redirectUrl,
    pasted(text) {
      const given = text.trim();
      if (URL.canParse(given)) return /[?&](?:code|error)=/.test(given) ? new URL(given) : undefined;
      // A code without a state is bound to this login by its PKCE challenge.
      const [, code, own = state] = CODE.exec(given) ?? [];
      if (code === undefined) return undefined;
      const callback = new URL(redirectUrl);
      for (const [name, value] of Object.entries({ code, state: own })) callback.searchParams.set(name, value);
      return callback;
    },
    isOwn: (callback) => callback.searchParams.get('state') === state,
    finish: (callback) => server.codeTokens(callback.searchParams, { state, verifier, redirectUrl }),
  };
}
