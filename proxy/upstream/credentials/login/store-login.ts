// Stores the login of an operator's command. It refuses a login of another user, of another account, or one that was stored before (Q9).
import type { Lease } from '../../../../store/store.ts';
import type { OauthCredential } from '../../../turn/settings.ts';
import { SEALED, type StoredLogin, type TokenVault } from '../token-vault.ts';
import type { Tokens } from '../tokens.ts';
import { loginIdentity } from './identity.ts';

export interface LoginOrder {
  readonly tokens: Tokens;
  /** How the tokens were obtained. Those of an import may be used up; those of a login are new. */
  readonly by: 'login' | 'import';
  /** The name of the stored login when this login began, or null if there was none. Undefined if it does not matter. */
  readonly former: string | null | undefined;
  /** Whether the account may get another user than before. */
  readonly anotherUser: boolean;
  readonly claim: OauthCredential['identity_claim'];
  /** The accounts of the configuration. The store may also have logins of accounts that were removed. */
  readonly accounts: readonly string[];
}

export type StoreLoginResult =
  | { readonly kind: 'stored'; readonly login: StoredLogin; readonly identity: string | undefined }
  /** The account already has this login. */
  | { readonly kind: 'known'; readonly identity: string | undefined }
  /** Another login was stored after this one began. */
  | { readonly kind: 'overtaken'; readonly at: number }
  /** `identity` is undefined if the tokens do not state it. */
  | { readonly kind: 'another_user'; readonly former: string; readonly identity: string | undefined }
  /** Another account has the same user. */
  | { readonly kind: 'duplicate'; readonly account: string; readonly identity: string }
  /** The file's refresh token was imported before, and has been used up. */
  | { readonly kind: 'spent'; readonly account: string; readonly at: number };

/** @throws Error if the store fails, or if another process does not end its refresh */
export function storeLogin(vault: TokenVault, account: string, order: LoginOrder): Promise<StoreLoginResult> {
  return vault.whileLeased(account, (lease) => storeAlone(vault, { account, lease, order }));
}

interface Leased {
  readonly account: string;
  readonly lease: Lease | undefined;
  readonly order: LoginOrder;
}

async function storeAlone(vault: TokenVault, { account, lease, order }: Leased): Promise<StoreLoginResult> {
  const { tokens, by, claim } = order;
  const identity = loginIdentity(tokens, claim);
  const imported = vault.importOf(tokens);
  const stored = await vault.find(account);
  const current = stored === SEALED ? undefined : stored;
  if (current?.imported === imported) return { kind: 'known', identity };
  const spent = by === 'import' ? await vault.firstImport(imported) : undefined;
  if (spent) return { kind: 'spent', account: spent.account, at: spent.at };
  if (order.former !== undefined && (current?.imported ?? null) !== order.former) {
    return { kind: 'overtaken', at: (await vault.storedAt(account)) ?? 0 };
  }
  const former = current && loginIdentity(current.tokens, claim);
  if (former !== undefined && former !== identity && !order.anotherUser) return { kind: 'another_user', former, identity };
  const other = identity === undefined ? undefined : (await vault.all()).find((one) => isOther(one, { account, identity, order }));
  if (other && identity !== undefined) return { kind: 'duplicate', account: other.account, identity };
  const login = { tokens, imported };
  if (!(await vault.replace(account, login, lease))) return { kind: 'overtaken', at: (await vault.storedAt(account)) ?? 0 };
  return { kind: 'stored', login, identity };
}

function isOther(
  { account, tokens }: StoredLogin & { readonly account: string },
  of: { readonly account: string; readonly identity: string; readonly order: LoginOrder },
): boolean {
  return account !== of.account && of.order.accounts.includes(account) && loginIdentity(tokens, of.order.claim) === of.identity;
}
