// The credentials of all accounts: configured headers with a static bearer or with tokens that are refreshed (Q9).
import type { LoadedConfig } from '../../config/config.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { AccountCredentials, AccountHeaders, Renewal, StaticCredentials } from '../account-credentials.ts';
import { credentialHeader } from './credential-header.ts';
import { type LoginAddress, loginAddress } from './login/login-address.ts';
import { type LoginOrder, type StoreLoginResult, storeLogin } from './login/store-login.ts';
import { OauthAccount, type OauthTools, type Relogin } from './oauth-account.ts';
import { SecretFiles } from './secret-files.ts';
import type { TokenVault } from './token-vault.ts';

export class Credentials implements AccountCredentials {
  readonly #tools: OauthTools;
  readonly #files = new SecretFiles();
  #oauth: ReadonlyMap<string, OauthAccount> = new Map();

  constructor(tools: OauthTools) {
    this.#tools = tools;
  }

  /**
   * Takes the accounts of a configuration at once, and reads every tokens file again. Resolves when all files were read; never rejects,
   * since a store that fails concerns only the accounts that need it: it is asked again when a turn does.
   */
  async configure({ config }: LoadedConfig): Promise<void> {
    const next = new Map<string, OauthAccount>();
    const looking: Promise<unknown>[] = [];
    for (const { id, credential } of config.accounts) {
      if (!credential || !('oauth' in credential)) continue;
      const known = this.#oauth.get(id);
      const account = known ?? new OauthAccount(id, credential.oauth, this.#tools);
      const looked = known ? account.follow(credential.oauth) : account.start();
      looking.push(looked.catch(() => this.#tools.log.warn('credential_import_failed', { account: id })));
      next.set(id, account);
    }
    this.#oauth = next;
    this.#files.clear();
    await Promise.all(looking);
  }

  /**
   * The headers that are added to requests to this account: they replace equal ones. A promise only if the account waits for
   * a refresh. The `account_id` of a tokens file is not among them: if a provider requires it in a header, `headers` names both.
   * @throws CredentialUnavailable from the promise
   */
  headersFor(account: AccountConfig, { bearers }: StaticCredentials): AccountHeaders | Promise<AccountHeaders> {
    const bearer = this.#oauth.get(account.id)?.bearer() ?? this.#files.of(account) ?? bearers.get(account.id);
    if (bearer instanceof Promise) return bearer.then((token) => withBearer(account, token));
    return bearer === undefined ? account.headers : withBearer(account, bearer);
  }

  /**
   * The account answered 401 to a request with this credential. After `renewed` the same request may be sent again; a static secret
   * stays refused until its file or the configuration has another.
   */
  async refused(account: AccountConfig, authorization: string | undefined): Promise<Renewal> {
    const oauth = this.#oauth.get(account.id);
    const sent = authorization?.replace(/^Bearer /, '');
    return oauth ? oauth.refused(sent) : this.#files.refused(account, sent);
  }

  /** Imports another login from the tokens file, if there is one; that clears the account's state. */
  async reimported(account: AccountConfig): Promise<boolean> {
    return (await this.#oauth.get(account.id)?.reimported()) ?? false;
  }

  /** Takes over tokens that another process has stored. @returns whether they were new here */
  async adopt(account: string): Promise<boolean> {
    return (await this.#oauth.get(account)?.adopt()) ?? false;
  }

  /** When the account's tokens were obtained, Unix milliseconds; undefined for an account without a tokens file. */
  loginAt(account: string): number | undefined {
    return this.#oauth.get(account)?.loginAt;
  }

  /** An operator logged the account in again, or made its stored login readable again. Undefined for an account without a tokens file. */
  relogin(account: string): Promise<Relogin> | undefined {
    return this.#oauth.get(account)?.relogin();
  }

  /**
   * Stores the login of an operator's command. The account may be one that the configuration will have: it is then used from that moment.
   * @throws Error if the store fails
   */
  replaceLogin(account: string, order: LoginOrder): Promise<StoreLoginResult | 'failed'> {
    const oauth = this.#oauth.get(account);
    return oauth ? oauth.replace(order) : storeLogin(this.#tools.vault, account, order);
  }

  /** Where an address of the `oauth` section really is. */
  addressOf(account: string, url: string, name: LoginAddress): string {
    return loginAddress(url, name, () => this.#tools.baseOf?.(account));
  }

  /** The stored logins. */
  get vault(): Pick<TokenVault, 'find' | 'storedAt'> {
    return this.#tools.vault;
  }

  /** The credential, which no answer of this account may contain. */
  secretOf(account: string, { bearers }: StaticCredentials): string | undefined {
    return this.#oauth.get(account)?.access ?? this.#files.last(account) ?? bearers.get(account);
  }
}

/** Headers with a credential, by the configuration object of the account. */
const bearing = new WeakMap<AccountConfig, { readonly bearer: string; readonly headers: AccountHeaders }>();

/** Returns the same object for as long as the account keeps its bearer. */
export function withBearer(account: AccountConfig, bearer: string): AccountHeaders {
  const known = bearing.get(account);
  if (known?.bearer === bearer) return known.headers;
  const name = credentialHeader(account);
  const value = name === 'authorization' ? `Bearer ${bearer}` : bearer;
  const headers = Object.freeze({ ...account.headers, [name]: value });
  bearing.set(account, { bearer, headers });
  return headers;
}
