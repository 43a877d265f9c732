// The credentials of all accounts: configured headers with a static secret or with tokens that are refreshed (Q9).
import type { LoadedConfig } from '../../config/config.ts';
import { resolveSecret } from '../../config/loading/secrets.ts';
import { credentialHeader, isApiAccount } from '../../turn/provider/api-account.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { AccountCredentials, AccountHeaders, Renewal } from '../account-credentials.ts';
import { type LoginAddress, loginAddress } from './login/login-address.ts';
import { type LoginOrder, type StoreLoginResult, storeLogin } from './login/store-login.ts';
import { OauthAccount, type OauthTools, type Relogin } from './oauth-account.ts';
import type { TokenVault } from './token-vault.ts';

export class Credentials implements AccountCredentials {
  readonly #tools: OauthTools;
  readonly #files = new SecretFiles();
  #oauth: ReadonlyMap<string, OauthAccount> = new Map();

  constructor(tools: OauthTools) {
    this.#tools = tools;
  }

  /**
   * Takes over the accounts of a configuration, and reads every tokens file again. Resolves when all files were read. Never rejects: a
   * failure of the store affects only the accounts that need it, and their next turn asks the store again.
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
   * The headers that are added to requests to this account, or replace headers of the same name. Returns a promise only if the account
   * waits for a refresh. The `account_id` of a tokens file is not among them. If a provider requires it, the operator sets it in `headers`.
   * @param bearer the static bearer of the account, or the value of its credential's header
   * @throws CredentialUnavailable from the promise
   */
  headersFor(account: AccountConfig, bearer: string | undefined): AccountHeaders | Promise<AccountHeaders> {
    const current = this.#oauthOf(account)?.bearer() ?? this.#files.of(account) ?? bearer;
    if (current instanceof Promise) return current.then((token) => withBearer(account, token));
    return current === undefined ? account.headers : withBearer(account, current);
  }

  /**
   * Handles a 401 of the account to a request with this credential. After `renewed` the same request may be sent again. A static secret
   * stays refused until its file or the configuration has another one.
   */
  async refused(account: AccountConfig, authorization: string | undefined): Promise<Renewal> {
    const oauth = this.#oauth.get(account.id);
    const sent = authorization?.replace(/^Bearer /, '');
    return oauth ? oauth.refused(sent) : this.#files.refused(account, sent);
  }

  /** Imports another login from the tokens file, if there is one. That also ends the account's cooldown. */
  async reimported(account: AccountConfig): Promise<boolean> {
    return (await this.#oauth.get(account.id)?.reimported()) ?? false;
  }

  /** Takes over tokens that another process has stored. @returns whether they differ from the tokens here */
  async adopt(account: string): Promise<boolean> {
    return (await this.#oauth.get(account)?.adopt()) ?? false;
  }

  /** When the account's tokens were obtained, in Unix milliseconds; undefined for an account without a tokens file. */
  loginAt(account: string): number | undefined {
    return this.#oauth.get(account)?.loginAt;
  }

  /**
   * Called when an operator logged the account in again, or made its stored login readable again. Undefined for an account without a tokens
   * file.
   */
  relogin(account: string): Promise<Relogin> | undefined {
    return this.#oauth.get(account)?.relogin();
  }

  /**
   * Stores the login of an operator's command. If the account is not in the configuration yet, the login is used as soon as it is.
   * @throws Error if the store fails
   */
  replaceLogin(account: string, order: LoginOrder): Promise<StoreLoginResult | 'failed'> {
    const oauth = this.#oauth.get(account);
    return oauth ? oauth.replace(order) : storeLogin(this.#tools.vault, account, order);
  }

  /** The actual address of an address in the `oauth` section. */
  addressOf(account: string, url: string, name: LoginAddress): string {
    return loginAddress(url, name, () => this.#tools.baseOf?.(account));
  }

  /** The stored logins. */
  get vault(): Pick<TokenVault, 'find' | 'storedAt'> {
    return this.#tools.vault;
  }

  /** The credential, which no answer of this account may contain. */
  secretOf(account: AccountConfig, bearer: string | undefined): string | undefined {
    return this.#oauthOf(account)?.access ?? this.#files.last(account.id) ?? bearer;
  }

  /** Undefined for most accounts, which are not looked up then. */
  #oauthOf({ id, credential }: AccountConfig): OauthAccount | undefined {
    return credential && 'oauth' in credential ? this.#oauth.get(id) : undefined;
  }
}

/** Headers with a credential, by the account's object in the configuration. */
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

/** Secrets of API accounts in files. A secret that the account refused is read again, because its operator may have replaced it (AA4). */
class SecretFiles {
  /** The secrets that were read since the configuration was loaded, by account. */
  readonly #read = new Map<string, { readonly file: string; readonly secret: string }>();

  /** Forgets all secrets, because the configuration and every file were loaded again. */
  clear(): void {
    this.#read.clear();
  }

  /** The secret, if it was read again after the configuration was loaded. */
  of(account: AccountConfig): string | undefined {
    const read = this.#read.get(account.id);
    return read && read.file === fileOf(account) ? read.secret : undefined;
  }

  /** The secret that was read last for the account, even if the account has another file now. */
  last(account: string): string | undefined {
    return this.#read.get(account)?.secret;
  }

  /** @param sent the secret that the account refused */
  async refused(account: AccountConfig, sent: string | undefined): Promise<Renewal> {
    const file = fileOf(account);
    if (file === undefined) return 'refused';
    const secret = await resolveSecret({ file }, [], { folder: '/', env: {}, strictEnv: true });
    if (typeof secret !== 'string' || secret === sent) return 'refused';
    this.#read.set(account.id, { file, secret });
    return 'renewed';
  }
}

function fileOf(account: AccountConfig): string | undefined {
  const { credential } = account;
  if (!isApiAccount(account) || !credential || 'oauth' in credential) return undefined;
  const secret = 'bearer' in credential ? credential.bearer : credential.header;
  return 'file' in secret ? secret.file : undefined;
}
