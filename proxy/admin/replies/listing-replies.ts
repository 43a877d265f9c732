// Accounts, keys and operators in the form of lists, which commands show both from a running gateway and from the file alone.
import { secretName } from '../../config/file/edits/new-secret.ts';
import { limitsOf } from '../../keys/limits/limit-kinds.ts';
import { ACCOUNT_ROW } from '../../mcp/account-rows.ts';
import { NEXT_CURSOR } from '../../mcp/paging.ts';
import { KEY_ROW, keySettings } from '../../mcp/tools/list-keys.ts';
import { flag, integer, list, nullable, object, oneOf, text, type ValueOf, withFields } from '../../turn/json/field-schemas.ts';
import type { AccountConfig, KeyConfig, OperatorConfig, PoolConfig } from '../../turn/settings.ts';
import { checkOf } from '../api/reply-check.ts';
import { TOKENS } from './edit-replies.ts';

const LISTED_ACCOUNT = withFields(ACCOUNT_ROW, {
  credential: oneOf(['none', 'bearer', 'header', 'oauth'], 'The kind of its credential.'),
  paused: flag('Whether an operator has paused it.'),
  base_url: nullable(text('Its address; null for operators without `admin: true`.')),
});

const LISTED_KEY = withFields(KEY_ROW, {
  secrets: integer('Number of its secrets: after a rotation the former ones work until their hashes leave the file.'),
});

/** The replies of GET /api/accounts and GET /api/keys: the rows of /mcp, with settings for those who may change them. */
export const ACCOUNTS = object({ accounts: list('In configuration order.', LISTED_ACCOUNT), ...NEXT_CURSOR });
export const KEYS = object({ keys: list('In configuration order.', LISTED_KEY), ...NEXT_CURSOR });

export type ListedAccount = ValueOf<typeof LISTED_ACCOUNT>;
export type ListedKey = ValueOf<typeof LISTED_KEY>;

/** An account without its state. */
export interface AccountListing
  extends Pick<ListedAccount, 'id' | 'label' | 'base_url' | 'credential' | 'visible' | 'paused' | 'max_concurrent'> {
  readonly pools: readonly string[];
}

/** A key without the use of its limits. */
export interface KeyListing extends Omit<ListedKey, 'limits'> {
  readonly limits: readonly Pick<ListedKey['limits'][number], 'type' | 'window' | 'max'>[];
}

export const accountSettings = ({
  base_url,
  credential,
  paused,
}: AccountConfig): Pick<ListedAccount, 'base_url' | 'credential' | 'paused'> => ({
  base_url,
  credential: !credential ? 'none' : 'oauth' in credential ? 'oauth' : 'bearer' in credential ? 'bearer' : 'header',
  paused,
});

export const accountListing = (account: AccountConfig, pools: readonly PoolConfig[]): AccountListing => ({
  id: account.id,
  label: account.label,
  ...accountSettings(account),
  visible: account.visible,
  max_concurrent: account.max_concurrent,
  pools: pools.filter(({ assignments }) => assignments.some((one) => one.account === account.id)).map(({ id }) => id),
});

/** @param now Unix milliseconds */
export const keyListing = (key: KeyConfig, now: number): KeyListing => ({
  ...keySettings(key, now),
  secrets: key.secret_sha256.length,
  limits: limitsOf(key.limits).limits.map(({ type, window, max }) => ({ type, window, max })),
});

export type OperatorListing = ValueOf<typeof TOKENS>['operators'][number];

export const operatorListing = ({ id, token_sha256, owns, assigned, admin }: OperatorConfig): OperatorListing => ({
  ...{ id, owns, assigned, admin },
  tokens: token_sha256.map(secretName),
});

export const isAccountsReply = checkOf(ACCOUNTS);
export const isKeysReply = checkOf(KEYS);
export const isTokensReply = checkOf(TOKENS);
