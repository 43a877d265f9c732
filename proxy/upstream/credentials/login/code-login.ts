// A login with a browser: the authorization code grant with PKCE (RFC 6749, 4.1; RFC 7636), whose callback comes to loopback or is pasted.
import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi';
import type { Tokens } from '../tokens.ts';
import type { AuthorizationServer } from './authorization-server.ts';

export interface CodeLogin {
  /** What a person opens in a browser. */
  readonly url: string;
  /**
   * @param callback the address that the browser was sent back to
   * @throws LoginFailed
   */
  finish(callback: URL): Promise<Tokens>;
}

/** @param redirectUrl where the callback comes to, with the port that listens */
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
    finish: (callback) => server.codeTokens(callback.searchParams, { state, verifier, redirectUrl }),
  };
}
