// One OAuth account: the tokens in use, one refresh at a time, and nothing used before it is durable (Q9).
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { OauthCredential } from '../../turn/settings.ts';
import { CredentialUnavailable, type Renewal } from '../account-credentials.ts';
import type { Exchange } from './token-endpoint.ts';
import type { Kept, TokenVault } from './token-vault.ts';
import { type Tokens, tokensIn } from './tokens.ts';

export interface OauthTools {
  readonly vault: TokenVault;
  readonly exchange: Exchange;
  readonly clock: Clock;
  readonly log: Log;
  /** The provider takes none of the account's tokens any more. */
  readonly onRefused: (account: string) => void;
  /** The operator's file holds another login than the one before, if any. */
  readonly onImported: (account: string) => void;
}

const EARLY_MS = 300_000;
/** A refresh that failed is not tried again for this long: shorter than any cooldown, so that a probe asks again. */
const PAUSE_MS = 5_000;
/** Longest that a turn waits for a refresh: the endpoint's 10 s, and the disk. The refresh itself goes on. */
const PATIENCE_MS = 15_000;

export class OauthAccount {
  readonly #id: string;
  readonly #tools: OauthTools;
  #config: OauthCredential;
  #kept: Kept | undefined;
  /** The refresh token that the endpoint refused for good. */
  #spent: string | undefined;
  #retryAt = 0;
  #flight: Promise<Renewal> | undefined;
  /** Imports and refreshes follow one another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(id: string, config: OauthCredential, tools: OauthTools) {
    this.#id = id;
    this.#config = config;
    this.#tools = tools;
  }

  /** Takes what an earlier process refreshed, and then the operator's file where that holds another login. */
  start(): Promise<unknown> {
    return this.#alone(async () => {
      this.#kept = await this.#tools.vault.find(this.#id);
      await this.#import();
    });
  }

  /** The file is looked at again; not waited for longer than a turn would wait. */
  follow(config: OauthCredential): Promise<unknown> {
    this.#config = config;
    return this.#inTime(this.#alone(() => this.#import()));
  }

  /** Whether the file holds another login than the one in use; it is in use then. */
  async reimported(): Promise<boolean> {
    return (await this.#inTime(this.#alone(() => this.#import()))) === true;
  }

  /** The access token in use, whatever it is still good for. */
  get access(): string | undefined {
    return this.#kept?.tokens.access;
  }

  /**
   * A token that is good now: at once while there is one, though a new one may be on its way already.
   * @throws CredentialUnavailable
   */
  bearer(): string | Promise<string> {
    const tokens = this.#kept?.tokens;
    const now = this.#tools.clock.now();
    if (tokens?.access === undefined || (tokens.expiresAt !== undefined && tokens.expiresAt <= now)) return this.#afterRenewal(tokens);
    if (isDue(tokens, now) && this.#mayRenew(tokens)) void this.#renew(tokens.access);
    return tokens.access;
  }

  /** The provider answered 401 to this token. Resolves at once where another has taken its place meanwhile. */
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
    return refresh !== undefined && refresh !== this.#spent && this.#tools.clock.now() >= this.#retryAt;
  }

  /** Whoever comes while a refresh is under way waits for that one. */
  #renew(not: string | undefined): Promise<Renewal> {
    this.#flight ??= this.#alone(() => this.#renewed(not))
      .catch((): Renewal => this.#failed(undefined))
      .finally(() => {
        this.#flight = undefined;
      });
    return this.#flight;
  }

  async #renewed(not: string | undefined): Promise<Renewal> {
    // An import that came first may have what is wanted here.
    if (this.#serves(not)) return 'renewed';
    return this.#tools.vault.whileLeased(this.#id, async () => {
      // The process that had the lease before may have stored new tokens.
      if ((await this.#reread()) && this.#serves(not)) return 'renewed';
      return this.#renewedAlone(not);
    });
  }

  async #renewedAlone(not: string | undefined): Promise<Renewal> {
    for (let round = 0; round < 3; round++) {
      const code = await this.#exchange();
      if (code === 'renewed' || code === 'failed') return code;
      // A refresh that lost the race finds the winner's tokens in the store, and an operator's new login in the file.
      if (!((await this.#reread()) || (await this.#import()))) return this.#refused(code.refused);
      if (this.#serves(not)) return 'renewed';
    }
    return this.#refused('refresh_token_reused');
  }

  async #exchange(): Promise<'renewed' | 'failed' | { readonly refused: string }> {
    const { exchange, clock, vault, log } = this.#tools;
    const kept = this.#kept;
    const refresh = kept?.tokens.refresh;
    if (!kept || refresh === undefined || refresh === this.#spent) return { refused: 'no_refresh_token' };
    const { token_url: url, client_id: clientId } = this.#config;
    const answer = await exchange({ url, clientId, tokens: { ...kept.tokens, refresh }, now: clock.now() });
    if (answer.kind === 'failed') return this.#failed(answer.status);
    if (answer.kind === 'refused') {
      this.#spent = refresh;
      return { refused: answer.code };
    }
    const next = { tokens: answer.tokens, imported: kept.imported };
    // The old refresh token is used up: should the process die now, the new one must be on disk.
    await vault.save(this.#id, next);
    this.#kept = next;
    log.info('credential_refreshed', { account: this.#id });
    return 'renewed';
  }

  /** Whether there is a token that is good now, and another than the refused one. */
  #serves(not: string | undefined): boolean {
    const tokens = this.#kept?.tokens;
    if (tokens?.access === undefined || tokens.access === not) return false;
    return tokens.expiresAt === undefined || tokens.expiresAt > this.#tools.clock.now();
  }

  async #reread(): Promise<boolean> {
    const stored = await this.#tools.vault.find(this.#id);
    if (!stored || (stored.tokens.refresh === this.#kept?.tokens.refresh && stored.tokens.access === this.access)) return false;
    this.#kept = stored;
    return true;
  }

  async #import(): Promise<boolean> {
    const { vault, log, onImported } = this.#tools;
    const tokens = await this.#inFile();
    if (!tokens) return false;
    const imported = vault.importOf(tokens);
    if (imported === this.#kept?.imported) return false;
    this.#kept = { tokens, imported };
    this.#spent = undefined;
    this.#retryAt = 0;
    log.info('credential_imported', { account: this.#id });
    onImported(this.#id);
    await vault.save(this.#id, this.#kept);
    return true;
  }

  async #inFile(): Promise<Tokens | undefined> {
    const { clock, log } = this.#tools;
    try {
      const tokens = tokensIn(JSON.parse(await readFile(this.#config.file, 'utf8')), clock.now());
      if (tokens) return tokens;
    } catch {
      // The file may be gone, or half written; the parser's message would quote it.
    }
    log.warn('credential_file_unreadable', { account: this.#id });
    return undefined;
  }

  #failed(status: number | undefined): 'failed' {
    const { clock, log } = this.#tools;
    this.#retryAt = clock.now() + PAUSE_MS;
    log.warn('credential_refresh_failed', { account: this.#id, status });
    return 'failed';
  }

  #refused(code: string): 'refused' {
    this.#tools.log.error('credential_refused', { account: this.#id, code });
    this.#tools.onRefused(this.#id);
    return 'refused';
  }

  #inTime<Result>(under: Promise<Result>): Promise<Result | 'failed'> {
    const { promise, resolve } = Promise.withResolvers<'failed'>();
    const cancel = this.#tools.clock.after(PATIENCE_MS, () => resolve('failed'));
    return Promise.race([under, promise]).finally(cancel);
  }

  #alone<Result>(act: () => Promise<Result>): Promise<Result> {
    const mine = this.#last.then(act);
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}

/** Five minutes early; half of its life where that is shorter, or a token of a short life would be due all along. */
function isDue({ at, expiresAt }: Tokens, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt - Math.min(EARLY_MS, (expiresAt - at) / 2);
}
