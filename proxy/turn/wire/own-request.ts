// What the gateway says of itself: in its requests for turns to API accounts, and in its own ones for their lists and files (AA29).
import manifest from '../../../package.json' with { type: 'json' };
import { isApiAccount } from '../provider/api-account.ts';
import type { AccountConfig } from '../settings.ts';

export const USER_AGENT = `poolgate/${manifest.version}`;

/** The headers of a request of its own, beside the account's configured ones and its credential. Agent backends want a client's name there. */
export const ownRequestHeaders = (account: AccountConfig): Readonly<Record<string, string>> => ({
  accept: 'application/json',
  'accept-encoding': 'identity',
  ...(isApiAccount(account) && { 'user-agent': USER_AGENT }),
});
