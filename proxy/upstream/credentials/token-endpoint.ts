// Requests new tokens from a token endpoint, and distinguishes a final refusal from a transient failure (Q9).
import { Batches } from '../../base/process/batch.ts';
import { isChallengePage } from '../../turn/errors/challenge-page.ts';
import { type CallAnswer, call } from '../call.ts';
import { UndiciCarrier } from '../carriers/undici-carrier.ts';
import type { Upstream } from '../upstreams.ts';
import { refreshedBy, rotatedBy, type Tokens } from './tokens.ts';

/**
 * `fresh`: the old refresh token is used up. `rotated`: it is used up too, but there is no new access token. `refused`: the account has to log
 * in again. `failed`: the network or the endpoint failed, or the answer was unknown; the refresh token may be used up. `challenged`: a
 * network's guard answered instead of the endpoint.
 */
export type Exchanged =
  | { readonly kind: 'fresh'; readonly tokens: Tokens }
  | { readonly kind: 'rotated'; readonly tokens: Tokens; readonly status: number }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'failed'; readonly status: number | undefined }
  | { readonly kind: 'challenged'; readonly status: number };

export interface TokenRequest {
  readonly account: string;
  readonly url: string;
  readonly clientId: string;
  readonly tokens: Tokens & { readonly refresh: string };
  readonly now: number;
}

export type TokenExchange = (request: TokenRequest) => Promise<Exchanged>;

const FINAL_CODES = new Set(['invalid_grant', 'refresh_token_expired', 'refresh_token_reused', 'refresh_token_invalidated']);
const BYTES = 262_144;
const NO_BYTES = Buffer.alloc(0);

/**
 * @param upstreamOf the connections of an account, which its refreshes use like its turns; an account that is no longer configured sends
 * none
 * @param ms the longest silence of the endpoint; tests shorten it
 */
export function tokenEndpoint(upstreamOf: (account: string) => Pick<Upstream, 'routeTo'> | undefined, ms = 10_000): TokenExchange {
  return async ({ account, url, clientId, tokens, now }) => {
    const upstream = upstreamOf(account);
    if (!upstream) return { kind: 'failed', status: undefined };
    const { origin, pathname } = new URL(url);
    // Refreshes are hourly: a new connection for each costs less than one that stays open.
    const timeouts = { connectMs: ms, firstByteMs: ms, idleMs: ms };
    const carrier = new UndiciCarrier(origin, timeouts, new Batches(), upstream.routeTo(url));
    const body = JSON.stringify({ client_id: clientId, grant_type: 'refresh_token', refresh_token: tokens.refresh });
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'content-type': 'application/json' };
    try {
      const answer = await call(carrier, { method: 'POST', path: pathname, headers, body }, { bytes: BYTES, ms });
      return judged(answer, tokens, now);
    } catch {
      return { kind: 'failed', status: undefined };
    } finally {
      void carrier.destroy();
    }
  };
}

function judged({ status, headers, body }: CallAnswer, used: Tokens, now: number): Exchanged {
  if (isChallengePage(status, headers, NO_BYTES)) return { kind: 'challenged', status };
  if (status >= 200 && status < 300) {
    const tokens = refreshedBy(body, used, now);
    if (tokens) return { kind: 'fresh', tokens };
    const rotated = rotatedBy(body, used);
    return rotated ? { kind: 'rotated', tokens: rotated, status } : { kind: 'failed', status };
  }
  const code = codesIn(body).find((one) => FINAL_CODES.has(one));
  if (status === 401 || (code !== undefined && status < 500)) return { kind: 'refused', code: code ?? 'unauthorized' };
  return { kind: 'failed', status };
}

/** The error codes of an answer, which has the form `{error: "…"}`, `{error: {code | type}}` or `{code}`. */
export function codesIn(body: unknown): readonly string[] {
  const { error, code } = (body ?? {}) as { readonly error?: unknown; readonly code?: unknown };
  const inner = (typeof error === 'object' && error !== null ? error : {}) as { readonly code?: unknown; readonly type?: unknown };
  return [error, code, inner.code, inner.type].filter((one) => typeof one === 'string');
}
