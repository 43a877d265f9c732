// How the gateway identifies itself: in turns to API accounts, and in its own requests for their lists and files (AA29).
import manifest from '../../../package.json' with { type: 'json' };
import { isApiAccount } from '../provider/api-account.ts';
import type { AccountConfig } from '../settings.ts';

export const USER_AGENT = `poolgate/${manifest.version}`;

/**
 * The headers of a request of the gateway's own, besides the account's configured headers and its credential. Agent backends expect the
 * name of a client in them.
 */
export const ownRequestHeaders = (account: AccountConfig): Readonly<Record<string, string>> => ({
  accept: 'application/json',
  'accept-encoding': 'identity',
  ...(isApiAccount(account) && { 'user-agent': USER_AGENT }),
});
