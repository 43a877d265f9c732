// The price of a model at an account, and of the tokens of a turn. The account's own catalog row has precedence over the Pool. An account
// without a credential costs nothing (AA70).
import { oncePerObject } from '../../base/process/once-per-object.ts';
import { type ApiAccountConfig, isApiAccount } from '../provider/api-account.ts';
import { presetOf } from '../provider/presets.ts';
import { isRehearsal } from '../provider/rehearsal-address.ts';
import type { TokenCounts } from '../reply/turn-result.ts';
import type { AccountPath, DispatchedKind } from '../routes/kinds.ts';
import type { AccountConfig, PoolConfig, Prices } from '../settings.ts';

const FREE: Prices = { input: 0, cached_input: 0, output: 0 };

export type PricedPool = Pick<PoolConfig, 'models'>;

/** The paths whose requests use no model. */
const COSTLESS: ReadonlySet<AccountPath | undefined> = new Set<AccountPath>(['files', 'forward']);

/** Whether requests of the kind cost nothing. */
export const isCostless = (kind: Pick<DispatchedKind, 'path'> | undefined): boolean => COSTLESS.has(kind?.path);

/** The price of a model at an account. @param model exposed id; undefined for a turn without a model */
export function priceAt(account: AccountConfig, model: string | undefined, pool: PricedPool): Prices | undefined {
  const own = model === undefined || !isApiAccount(account) ? undefined : declared(account).get(ownId(account, model));
  return own ?? priceIn(pool, model) ?? (costsNothing(account) ? FREE : undefined);
}

export const priceIn = ({ models }: PricedPool, model: string | undefined): Prices | undefined =>
  model !== undefined && Object.hasOwn(models, model) ? models[model]?.prices : undefined;

export const isFree = ({ input, cached_input, output }: Prices): boolean => input === 0 && cached_input === 0 && output === 0;

/** Whether the account has prices of its own. If no account of a Pool has any, the Pool's prices hold at every account. */
export const hasOwnPrices = (account: AccountConfig): boolean => isApiAccount(account) && account.catalog.some(({ prices }) => prices);

/** The cost in whole billionths of a US dollar. Prices are dollars per million tokens. A model without prices costs 0. */
export function costOf(tokens: TokenCounts, prices: Prices | undefined): number {
  if (!prices) return 0;
  const input = tokens.input_tokens ?? 0;
  const cached = Math.min(input, tokens.cached_input_tokens ?? 0);
  const perMillion = (input - cached) * prices.input + cached * prices.cached_input + (tokens.output_tokens ?? 0) * prices.output;
  return Math.round(perMillion * 1000);
}

const ownId = ({ models }: AccountConfig, model: string): string => (Object.hasOwn(models, model) ? (models[model] as string) : model);

/** A simulated account never has a credential. Whether it costs nothing depends on the server that it simulates. */
function costsNothing(account: AccountConfig): boolean {
  if (!isApiAccount(account) || account.credential !== undefined) return false;
  return !isRehearsal(account.base_url) || (account.preset !== undefined && presetOf(account.preset).credential === 'none');
}

/** The prices in the account's catalog, by the account's own ids of models. */
const declared = oncePerObject(
  ({ catalog }: ApiAccountConfig): ReadonlyMap<string, Prices> =>
    new Map(catalog.flatMap(({ id, prices }) => (prices ? [[id, prices] as const] : []))),
);
