// The login of one OAuth account in this process: its tokens, how long they are valid, and whether they can be renewed (Q9).
import type { Log } from '../../base/process/log.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { OauthCredential } from '../../turn/settings.ts';
import { SEALED, type StoredLogin, type TokenVault } from './token-vault.ts';
import { isDue, storedBy, type Tokens } from './tokens.ts';

export interface LoginTools {
  readonly vault: TokenVault;
  readonly clock: Clock;
  readonly log: Log;
  /** Called if this process has no login that it can use: none is stored, or it was sealed with another key. Another process may have one. */
  readonly onNoLogin: (account: string) => void;
  /** Called if another process has stored a login. */
  readonly onLogin: (account: string) => void;
}

export class AccountLogin {
  readonly account: string;
  /** The settings from which the account gets its tokens. */
  config: OauthCredential;
  /** The time before which no refresh token is sent, because the last exchange failed; Unix milliseconds. */
  retryAt = 0;
  readonly #tools: LoginTools;
  #login: StoredLogin | undefined;
  #isRead = false;
  #isSealed = false;
  /** How the last exchange failed. */
  lastFailure: 'failed' | 'challenged' = 'failed';
  /** The refresh token that the endpoint refused finally. */
  #refusedRefresh: string | undefined;

  constructor(account: string, config: OauthCredential, tools: LoginTools) {
    this.account = account;
    this.config = config;
    this.#tools = tools;
  }

  get tokens(): Tokens | undefined {
    return this.#login?.tokens;
  }

  /** The name of the login in the operator's file from which the current tokens were made. */
  get imported(): string | undefined {
    return this.#login?.imported;
  }

  /** The current access token, which may have expired. */
  get access(): string | undefined {
    return this.#login?.tokens.access;
  }

  /** Whether the store had no login of the account when it was read. */
  get isAbsent(): boolean {
    return this.#isRead && !this.#isSealed && this.#login === undefined;
  }

  /** Whether the stored login cannot be opened. */
  get isSealed(): boolean {
    return this.#isSealed;
  }

  /** The access token if it is valid. */
  validAccess(now: number): string | undefined {
    const tokens = this.tokens;
    return tokens && (tokens.expiresAt === undefined || tokens.expiresAt > now) ? tokens.access : undefined;
  }

  /** Whether there is a valid token other than this one. */
  hasOther(not: string | undefined): boolean {
    const valid = this.validAccess(this.#tools.clock.now());
    return valid !== undefined && valid !== not;
  }

  /** The refresh token, unless the endpoint refused it finally. */
  get refresh(): string | undefined {
    const refresh = this.tokens?.refresh;
    return refresh === this.#refusedRefresh ? undefined : refresh;
  }

  /** Whether the tokens should be renewed before they expire, and can be. */
  isDue(now: number): boolean {
    return this.tokens !== undefined && isDue(this.tokens, now) && this.refresh !== undefined && now >= this.retryAt;
  }

  /**
   * Reads the login that an earlier process stored. It runs before any import, because that process may have used up the login in the file.
   */
  async read(): Promise<void> {
    if (this.#isRead) return;
    const stored = await this.#tools.vault.find(this.account);
    this.#isRead = true;
    if (stored === SEALED) this.#sealed();
    else this.#login = stored && this.#here(stored);
  }

  /** Takes over the tokens that another process has stored. @returns whether they differ from the tokens here */
  async reread(): Promise<boolean> {
    const stored = await this.#tools.vault.find(this.account);
    if (!stored || stored === SEALED) return false;
    if (stored.tokens.refresh === this.tokens?.refresh && stored.tokens.access === this.access) return false;
    this.#login = this.#here(stored);
    this.retryAt = 0;
    this.#tools.onLogin(this.account);
    return true;
  }

  /** Called when the tokens were renewed and stored. */
  renewed(login: StoredLogin): void {
    this.#login = login;
  }

  /** Called when the operator's login was imported and stored. */
  replaced(login: StoredLogin): void {
    this.#login = login;
    this.#isSealed = false;
    this.askAgain();
  }

  /** Delays the next exchange, because the last one failed. @param until Unix milliseconds */
  pause(until: number, failure: 'failed' | 'challenged'): void {
    this.retryAt = until;
    this.lastFailure = failure;
  }

  /** Called when the endpoint refused this refresh token finally. */
  refused(refresh: string): void {
    this.#refusedRefresh = refresh;
  }

  /** Allows requests to the provider again, even if it refused the tokens before. */
  askAgain(): void {
    this.#refusedRefresh = undefined;
    this.retryAt = 0;
  }

  #here({ tokens, imported }: StoredLogin): StoredLogin {
    return { tokens: storedBy(this.#tools.clock.now(), tokens), imported };
  }

  /** Handles a stored login that cannot be opened. It stays stored, because its key may come back. */
  #sealed(): void {
    this.#isSealed = true;
    const message = `store_key is not the key that the stored login was sealed with: restore that key and restart; or log in again, then run: poolgate account relogin ${this.account}`;
    this.#tools.log.error('store_key_differs', { account: this.account, message });
    this.#tools.onNoLogin(this.account);
  }
}
