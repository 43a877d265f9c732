// Authorization headers and their results: `<KEY>` is replaced with the secret of the key, in the state that the case gives it.
import type { KeyConfig } from '../../../proxy/turn/settings.ts';

export interface AuthenticationCase {
  readonly name: string;
  /** Absent if the request has no such header. */
  readonly authorization?: string;
  readonly key?: Partial<Pick<KeyConfig, 'status' | 'expires_at'>>;
  /** Absent if the turn passes. */
  readonly code?: 'invalid_api_key' | 'api_key_disabled' | 'api_key_expired';
}

/** The arrival time of the requests in Unix milliseconds. */
export const NOW = 1_800_000_000_000;

export const AUTHENTICATION: readonly AuthenticationCase[] = [
  { name: '[AU1] a Pool API key as a Bearer token opens the route', authorization: 'Bearer <KEY>' },
  { name: '[AU1] the scheme is read in any letter case', authorization: 'bEARER <KEY>' },
  { name: '[AU1] several blanks may stand before the token', authorization: 'Bearer   <KEY>' },
  { name: '[AU1] no Authorization header is refused', code: 'invalid_api_key' },
  { name: '[AU1] an empty header is refused', authorization: '', code: 'invalid_api_key' },
  { name: '[AU1] a scheme without a token is refused', authorization: 'Bearer ', code: 'invalid_api_key' },
  { name: '[AU1] a token without a scheme is refused', authorization: '<KEY>', code: 'invalid_api_key' },
  { name: '[AU1] another scheme is refused', authorization: 'Basic <KEY>', code: 'invalid_api_key' },
  { name: '[AU1] an unknown token is refused', authorization: 'Bearer other', code: 'invalid_api_key' },
  { name: '[AU1] two tokens are refused', authorization: 'Bearer <KEY> <KEY>', code: 'invalid_api_key' },
  { name: '[AU1] a repeated header is refused', authorization: 'Bearer <KEY>, Bearer <KEY>', code: 'invalid_api_key' },
  { name: '[AU1] a token in quotes is another token', authorization: 'Bearer "<KEY>"', code: 'invalid_api_key' },
  { name: '[Q2] a paused key is reported as such', authorization: 'Bearer <KEY>', key: { status: 'paused' }, code: 'api_key_disabled' },
  { name: '[Q2] a revoked key is reported as such', authorization: 'Bearer <KEY>', key: { status: 'revoked' }, code: 'api_key_disabled' },
  { name: '[Q2] a key is open until its expiry', authorization: 'Bearer <KEY>', key: { expires_at: NOW + 1 } },
  { name: '[Q2] a key is closed at its expiry', authorization: 'Bearer <KEY>', key: { expires_at: NOW }, code: 'api_key_expired' },
  {
    name: '[Q2] a key that is both revoked and expired is reported as revoked',
    authorization: 'Bearer <KEY>',
    key: { status: 'revoked', expires_at: NOW - 1 },
    code: 'api_key_disabled',
  },
  {
    name: '[Q2] without its secret the status of a paused key is not revealed',
    authorization: 'Bearer <KEY>x',
    key: { status: 'paused' },
    code: 'invalid_api_key',
  },
];
