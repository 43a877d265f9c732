// The tokens of one OAuth account, for turns and operators. They are returned at once while they are valid, otherwise after one refresh or
// import (Q9).
import type { OauthCredential } from '../../turn/settings.ts';
import { CredentialUnavailable, type Renewal } from '../account-credentials.ts';
import { AccountLogin, type LoginTools } from './account-login.ts';
import { type LoginOrder, type StoreLoginResult, storeLogin } from './login/store-login.ts';
import { type ImportTools, LoginImport, type OrderedImport } from './login-import.ts';
import { type RefreshTools, TokenRefresh } from './token-refresh.ts';

export interface OauthTools extends LoginTools, ImportTools, RefreshTools {}

/**
 * The result of a login by an operator: other tokens in the file, the known ones, those from before a sealed login, none, or no result in
 * time.
 */
export type Relogin = Exclude<OrderedImport, 'known'> | 'unchanged' | 'failed';

/** How long a turn waits for a refresh: 10 s for the endpoint, and time for the disk. The refresh continues after it. */
const WAIT_MS = 15_000;

export class OauthAccount {
  readonly #tools: OauthTools;
  readonly #login: AccountLogin;
  readonly #file: LoginImport;
  readonly #refresh: TokenRefresh;
  #flight: Promise<Renewal> | undefined;
  /** The last import or refresh. They run one after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(id: string, config: OauthCredential, tools: OauthTools) {
    this.#tools = tools;
    this.#login = new AccountLogin(id, config, tools);
    this.#file = new LoginImport(this.#login, tools);
    this.#refresh = new TokenRefresh(this.#login, this.#file, tools);
  }

  /** Loads the tokens that an earlier process refreshed, then the operator's file if it has another login. */
  start(): Promise<unknown> {
    return this.#inSequence(() => this.#file.run());
  }

  /** Reads the file again. It waits no longer than a turn would. */
  follow(config: OauthCredential): Promise<unknown> {
    this.#login.config = config;
    return this.reimported();
  }

  /** Imports another login from the file, and returns whether there was one. */
  async reimported(): Promise<boolean> {
    return (await this.#inTime(this.#inSequence(() => this.#file.run()))) === true;
  }

  /** Imports the file. If its login is known, the provider is asked again even if it refused that login. */
  relogin(): Promise<Relogin> {
    return this.#inTime(
      this.#inSequence(async () => {
        const found = await this.#file.runByOperator();
        if (found !== 'known') return found;
        this.#login.askAgain();
        await this.#tools.vault.cancel(this.#login.account);
        return 'unchanged';
      }),
    );
  }

  /** Stores and uses the login of an operator's command, unless the account must not have it. */
  replace(order: LoginOrder): Promise<StoreLoginResult | 'failed'> {
    return this.#inTime(
      this.#inSequence(async () => {
        await this.#login.read();
        const result = await storeLogin(this.#tools.vault, this.#login.account, order);
        if (result.kind === 'stored') this.#login.replaced(result.login);
        return result;
      }),
    );
  }

  /** Takes over the tokens that another process has stored. */
  adopt(): Promise<boolean> {
    this.#tools.vault.announce(this.#login.account);
    return this.#inSequence(() => this.#login.reread());
  }

  /** When the current tokens were obtained; Unix milliseconds. */
  get loginAt(): number | undefined {
    return this.#login.tokens?.at;
  }

  /** The current access token, which may have expired. */
  get access(): string | undefined {
    return this.#login.access;
  }

  /** A valid token. It is returned at once if there is one, even during a refresh. @throws CredentialUnavailable */
  bearer(): string | Promise<string> {
    const now = this.#tools.clock.now();
    const valid = this.#login.validAccess(now);
    if (valid === undefined) return this.#afterRenewal();
    if (this.#login.isDue(now)) void this.#renew(valid);
    return valid;
  }

  /** Handles a 401 of the provider to this token. Resolves at once if the token has been replaced since it was sent. */
  async refused(access: string | undefined): Promise<Renewal> {
    return access === this.access ? this.#renewInTime() : 'renewed';
  }

  async #afterRenewal(): Promise<string> {
    const renewal = await this.#renewInTime();
    if (renewal === 'renewed' && this.access !== undefined) return this.access;
    throw new CredentialUnavailable(renewal === 'renewed' ? 'failed' : renewal);
  }

  /** Renews the current access token, unless a renewal failed a moment ago. */
  async #renewInTime(): Promise<Renewal> {
    if (this.#tools.clock.now() < this.#login.retryAt) return this.#login.lastFailure;
    return this.#inTime(this.#renew(this.access));
  }

  /** Renews the tokens. Callers during a refresh wait for that refresh. */
  #renew(not: string | undefined): Promise<Renewal> {
    this.#flight ??= this.#inSequence(() => this.#refresh.run(not)).finally(() => {
      this.#flight = undefined;
    });
    return this.#flight;
  }

  #inTime<Result>(under: Promise<Result>): Promise<Result | 'failed'> {
    const { promise, resolve } = Promise.withResolvers<'failed'>();
    const cancel = this.#tools.clock.after(WAIT_MS, () => resolve('failed'));
    return Promise.race([under, promise]).finally(cancel);
  }

  #inSequence<Result>(act: () => Promise<Result>): Promise<Result> {
    const mine = this.#last.then(act);
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
