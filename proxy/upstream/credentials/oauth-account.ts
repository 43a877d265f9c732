// One OAuth account: its current tokens, one refresh at a time, and no token used before it is durable (Q9).
import type { Lease } from '../../../store/store.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { OauthCredential } from '../../turn/settings.ts';
import { CredentialUnavailable, type Renewal } from '../account-credentials.ts';
import type { Exchange } from './token-endpoint.ts';
import { SEALED, type StoredLogin, type TokenVault } from './token-vault.ts';
import { isDue, type Tokens } from './tokens.ts';
import { tokensInFile, writtenAt } from './tokens-file.ts';

export interface OauthTools {
  readonly vault: TokenVault;
  readonly exchange: Exchange;
  readonly clock: Clock;
  readonly log: Log;
  /** The provider refuses all tokens of the account. */
  readonly onRefused: (account: string) => void;
  /** The stored login was sealed with another key: this process cannot use it, another one may. */
  readonly onSealed: (account: string) => void;
  /** The operator's file has a login that was not imported before. */
  readonly onImported: (account: string) => void;
  /** The first refresh after a working one failed; the account is tried again. */
  readonly onRefreshFailed: (account: string) => void;
}

/** What another login by hand found: other tokens in the file, the known ones, those of before a sealed login, none, or no time to look. */
export type Relogin = 'imported' | 'unchanged' | 'former' | 'unreadable' | 'failed';

/** The pause after a failed refresh: shorter than any cooldown, so that a probe tries it again. */
const PAUSE_MS = 5_000;
/** How long a turn waits for a refresh: the endpoint's 10 s, and the disk. The refresh itself goes on. */
const WAIT_MS = 15_000;
/** A node that sent a refresh token this long ago and stored no answer has died, and the token may be spent. Before, it may be paused. */
const ABANDONED_MS = 120_000;

export class OauthAccount {
  readonly #id: string;
  readonly #tools: OauthTools;
  #config: OauthCredential;
  #login: StoredLogin | undefined;
  /** Whether the stored login was read, which an earlier process may have refreshed: that of the file may be spent. */
  #isRead = false;
  /** The stored login cannot be opened: the first login of the file may be the one that it began with, and be spent. */
  #isSealed = false;
  /** That login of the file, which only an operator's command imports. */
  #suspect: string | undefined;
  /** The refresh token that the endpoint refused finally. */
  #refusedRefresh: string | undefined;
  #retryAt = 0;
  /** Whether the last refresh failed. */
  #failing = false;
  /** The exchange that failed here, and could not be cancelled in the store. */
  #uncancelled: Lease | undefined;
  #flight: Promise<Renewal> | undefined;
  /** Imports and refreshes run one after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(id: string, config: OauthCredential, tools: OauthTools) {
    this.#id = id;
    this.#config = config;
    this.#tools = tools;
  }

  /** Loads the tokens that an earlier process refreshed, then the operator's file where that has another login. */
  start(): Promise<unknown> {
    return this.#inSequence(() => this.#import());
  }

  /** Reads the file again; waits no longer than a turn would. */
  follow(config: OauthCredential): Promise<unknown> {
    this.#config = config;
    return this.#inTime(this.#inSequence(() => this.#import()));
  }

  /** Imports another login from the file, and returns whether there was one. */
  async reimported(): Promise<boolean> {
    return (await this.#inTime(this.#inSequence(() => this.#import()))) === true;
  }

  /** Imports the file; where its login is known, the provider is asked again even after it refused that login. */
  relogin(): Promise<Relogin> {
    return this.#inTime(
      this.#inSequence(async () => {
        const tokens = await this.#inFile();
        if (!tokens) return 'unreadable';
        if (await this.#isFormer(tokens)) return 'former';
        if (await this.#import({ by: 'operator' })) return 'imported';
        this.#refusedRefresh = undefined;
        this.#retryAt = 0;
        await this.#tools.vault.cancel(this.#id);
        return 'unchanged';
      }),
    );
  }

  /** Takes over the tokens that another process has stored. */
  adopt(): Promise<boolean> {
    this.#tools.vault.announce(this.#id);
    return this.#inSequence(() => this.#reread());
  }

  /** When the current tokens were obtained; Unix milliseconds. */
  get loginAt(): number | undefined {
    return this.#login?.tokens.at;
  }

  /** The current access token, which may have expired. */
  get access(): string | undefined {
    return this.#login?.tokens.access;
  }

  /**
   * A valid token: at once while there is one, even when a refresh is under way.
   * @throws CredentialUnavailable
   */
  bearer(): string | Promise<string> {
    const tokens = this.#login?.tokens;
    const now = this.#tools.clock.now();
    if (tokens?.access === undefined || (tokens.expiresAt !== undefined && tokens.expiresAt <= now)) return this.#afterRenewal(tokens);
    if (isDue(tokens, now) && this.#mayRenew(tokens)) void this.#renew(tokens.access);
    return tokens.access;
  }

  /** The provider answered 401 to this token. Resolves at once where it has been replaced meanwhile. */
  async refused(access: string | undefined): Promise<Renewal> {
    if (access !== this.access) return 'renewed';
    if (this.#tools.clock.now() < this.#retryAt) return 'failed';
    return this.#inTime(this.#renew(access));
  }

  async #afterRenewal(tokens: Tokens | undefined): Promise<string> {
    const paused = this.#tools.clock.now() < this.#retryAt;
    const renewal = paused ? 'failed' : await this.#inTime(this.#renew(tokens?.access));
    if (renewal !== 'renewed' || this.access === undefined) throw new CredentialUnavailable(renewal === 'refused' ? 'refused' : 'failed');
    return this.access;
  }

  #mayRenew({ refresh }: Tokens): boolean {
    return refresh !== undefined && refresh !== this.#refusedRefresh && this.#tools.clock.now() >= this.#retryAt;
  }

  /** Callers during a refresh wait for that one. */
  #renew(not: string | undefined): Promise<Renewal> {
    this.#flight ??= this.#inSequence(() => this.#renewed(not))
      .catch((): Renewal => this.#failed(undefined))
      .finally(() => {
        this.#flight = undefined;
      });
    return this.#flight;
  }

  async #renewed(not: string | undefined): Promise<Renewal> {
    // An import that came first may have what is wanted here.
    if (this.#hasValid(not)) return 'renewed';
    // The process that has the lease, or had it before, may have stored new tokens.
    const found = async (): Promise<'renewed' | undefined> => {
      await this.#reread();
      return this.#hasValid(not) ? 'renewed' : undefined;
    };
    return this.#tools.vault.whileLeased<Renewal>(this.#id, (lease) => this.#renewedAlone(not, lease), found);
  }

  async #renewedAlone(not: string | undefined, lease: Lease | undefined): Promise<Renewal> {
    for (let round = 0; round < 3; round++) {
      const code = await this.#exchange(lease);
      if (code === 'renewed' || code === 'failed') return code;
      if (code === 'replaced') {
        if (this.#hasValid(not)) return 'renewed';
        continue;
      }
      // A refresh that lost the race finds the winner's tokens in the store, and an operator's new login in the file.
      if (!((await this.#reread()) || (await this.#import({ lease })))) return this.#refused(code.refused);
      if (this.#hasValid(not)) return 'renewed';
    }
    return this.#refused('refresh_token_reused');
  }

  /** `replaced`: the store has other tokens than those that were to be sent. */
  async #exchange(lease: Lease | undefined): Promise<'renewed' | 'failed' | 'replaced' | { readonly refused: string }> {
    const { exchange, clock, vault, log } = this.#tools;
    const login = this.#login;
    const refresh = login?.tokens.refresh;
    if (!login || refresh === undefined || refresh === this.#refusedRefresh) return { refused: 'no_refresh_token' };
    if (this.#uncancelled) await vault.cancel(this.#id, this.#uncancelled);
    this.#uncancelled = undefined;
    const begun = await vault.begin(this.#id, refresh, lease);
    if (begun.kind === 'open') return clock.now() - begun.at < ABANDONED_MS ? this.#failed(undefined) : { refused: 'refresh_interrupted' };
    if (begun.kind === 'changed') return (await this.#reread()) ? 'replaced' : this.#failed(undefined);
    const { token_url: url, client_id: clientId } = this.#config;
    const answer = await exchange({ url, clientId, tokens: { ...login.tokens, refresh }, now: clock.now() });
    if (answer.kind === 'failed') {
      await vault.cancel(this.#id, lease).catch(() => {
        this.#uncancelled = lease;
      });
      return this.#failed(answer.status);
    }
    if (answer.kind === 'refused') {
      // In the store the exchange stays open: no other node sends the token again.
      this.#refusedRefresh = refresh;
      return { refused: answer.code };
    }
    const next = { tokens: { ...answer.tokens, at: clock.now() }, imported: login.imported };
    // The old refresh token is spent: if the process dies now, the new one must be on disk.
    if (!(await vault.complete(this.#id, next, lease))) return (await this.#reread()) ? 'replaced' : this.#failed(undefined);
    this.#login = next;
    this.#failing = false;
    log.info('credential_refreshed', { account: this.#id });
    return 'renewed';
  }

  /** Whether there is a valid token other than the refused one. */
  #hasValid(not: string | undefined): boolean {
    const tokens = this.#login?.tokens;
    if (tokens?.access === undefined || tokens.access === not) return false;
    return tokens.expiresAt === undefined || tokens.expiresAt > this.#tools.clock.now();
  }

  async #reread(): Promise<boolean> {
    const stored = await this.#tools.vault.find(this.#id);
    if (!stored || stored === SEALED || (stored.tokens.refresh === this.#login?.tokens.refresh && stored.tokens.access === this.access))
      return false;
    this.#login = stored;
    this.#retryAt = 0;
    return true;
  }

  async #read(): Promise<void> {
    const stored = await this.#tools.vault.find(this.#id);
    this.#isRead = true;
    if (stored === SEALED) this.#sealed();
    else this.#login = stored;
  }

  /**
   * @param by an operator's command imports a former login too
   * @param lease of the refresh that looks for another login
   * @returns whether the login is another one now
   */
  async #import({ by, lease }: { readonly by?: 'operator'; readonly lease?: Lease | undefined } = {}): Promise<boolean> {
    const { vault, log, onImported } = this.#tools;
    if (!this.#isRead) await this.#read();
    const tokens = await this.#inFile();
    if (!tokens) return false;
    const imported = vault.importOf(tokens);
    if (imported === this.#login?.imported) return false;
    if (this.#isSealed) this.#suspect ??= imported;
    if (by !== 'operator' && imported === this.#suspect) return false;
    if (by !== 'operator' && (await vault.wasImported(this.#id, imported))) return false;
    const login = { tokens, imported };
    const stored = await vault.import(this.#id, login, lease).catch(() => 'failed');
    if (stored === 'failed') log.warn('credential_import_failed', { account: this.#id });
    if (stored === false) return this.#reread();
    if (stored !== true) return false;
    this.#login = login;
    this.#isSealed = false;
    this.#refusedRefresh = undefined;
    this.#retryAt = 0;
    log.info('credential_imported', { account: this.#id });
    onImported(this.#id);
    return true;
  }

  /** Whether the file was written before the sealed login was stored: then that one came of it, and its refresh token may be spent. */
  async #isFormer(tokens: Tokens): Promise<boolean> {
    const { vault } = this.#tools;
    if (!this.#isSealed || vault.importOf(tokens) !== this.#suspect) return false;
    const [written, stored] = await Promise.all([writtenAt(this.#config.file), vault.storedAt(this.#id)]);
    return written !== undefined && stored !== undefined && written <= stored;
  }

  async #inFile(): Promise<Tokens | undefined> {
    const { clock, log } = this.#tools;
    const tokens = await tokensInFile(this.#config.file, clock.now());
    if (!tokens) log.warn('credential_file_unreadable', { account: this.#id });
    return tokens;
  }

  #failed(status: number | undefined): 'failed' {
    const { clock, log, onRefreshFailed } = this.#tools;
    this.#retryAt = clock.now() + PAUSE_MS;
    log.warn('credential_refresh_failed', { account: this.#id, status });
    if (!this.#failing) onRefreshFailed(this.#id);
    this.#failing = true;
    return 'failed';
  }

  /** The stored login stays as it is: its key may come back. */
  #sealed(): void {
    this.#isSealed = true;
    const message = `store_key is not the key that the stored login was sealed with: restore that key and restart; or log in again, then run: poolgate account relogin ${this.#id}`;
    this.#tools.log.error('store_key_differs', { account: this.#id, message });
    this.#tools.onSealed(this.#id);
  }

  #refused(code: string): 'refused' {
    // No provider refused it: there is nothing to send.
    if (this.#isSealed) return 'refused';
    this.#tools.log.error('credential_refused', { account: this.#id, code });
    this.#tools.onRefused(this.#id);
    return 'refused';
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
