// Reads the model list of an account, with the account's credential, within the bounds for its API.
import type { LoadedConfig } from '../config/config.ts';
import { isApiAccount } from '../turn/provider/api-account.ts';
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import type { CatalogAnswer } from '../turn/provider/reads.ts';
import type { AccountConfig } from '../turn/settings.ts';
import { asUnavailable } from '../upstream/account-credentials.ts';
import type { CallBounds } from '../upstream/call.ts';
import type { OwnCalls } from '../upstream/credentials/own-calls.ts';

const BOUNDS = { bytes: 16_777_216, ms: 30_000 };
/** The bounds for the list of an API account (AA8). */
const API_BOUNDS = { ...BOUNDS, bytes: 4_194_304 };

export const catalogBounds = (account: AccountConfig): CallBounds => (isApiAccount(account) ? API_BOUNDS : BOUNDS);

export interface CatalogReadTools {
  readonly loaded: () => LoadedConfig;
  readonly providerOf: ProviderOf;
  readonly calls: OwnCalls;
}

export async function requestCatalog(id: string, { loaded, providerOf, calls }: CatalogReadTools): Promise<CatalogAnswer> {
  const { accounts, wire } = loaded().config;
  const account = accounts.find((one) => one.id === id);
  if (!account) throw new Error('unknown account');
  const bounds = catalogBounds(account);
  const { catalog } = providerOf(account);
  return catalog.read((path, from) => calls.get(id, path, bounds, from), { account, wire }).catch(notAsked);
}

/** The answer for an account without its login, which is not asked. It is the same as after a wrong credential. */
function notAsked(thrown: unknown): CatalogAnswer {
  if (asUnavailable(thrown).why !== 'refused') throw thrown;
  return { status: 401, body: undefined, bytes: 0, refusal: 'credential' };
}
