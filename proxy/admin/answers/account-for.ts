// Finds the account that an action names, and checks that its asker may act on it.
import type { AccountConfig } from '../../turn/settings.ts';
import { type Asker, mayChangeAccount } from '../access/asker.ts';
import type { AdminTarget } from '../admin-target.ts';
import { ApiRefusal } from '../api/endpoint.ts';

/** @throws ApiRefusal 404 for an account that the asker may not see, 403 for one that also belongs to others */
export function accountFor({ loaded }: AdminTarget, asker: Asker, id: string): AccountConfig {
  checkAccount(asker, id);
  const account = loaded.config.accounts.find((one) => one.id === id);
  if (!account) throw noAccount(id);
  return account;
}

/** Checks the right to act on an account, which need not be in the configuration yet. @throws ApiRefusal */
export function checkAccount(asker: Asker, id: string): void {
  const view = asker.view();
  if (!view.isWhole && !view.accountIds.includes(id)) throw noAccount(id);
  if (!mayChangeAccount(asker, id)) throw new ApiRefusal(403, `account '${id}' serves Pools that you do not own`);
}

export const noAccount = (id: string): ApiRefusal => new ApiRefusal(404, `the running gateway has no account '${id}'`);
