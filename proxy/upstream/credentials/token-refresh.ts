// Exchanges refresh tokens, one at a time over all processes on the store. No token is used before it is stored durably (Q9, Q34).
import type { Lease } from '../../../store/store.ts';
import type { Renewal } from '../account-credentials.ts';
import type { AccountLogin, LoginTools } from './account-login.ts';
import { loginAddress } from './login/login-address.ts';
import type { LoginImport } from './login-import.ts';
import type { TokenExchange } from './token-endpoint.ts';

export interface RefreshTools extends Pick<LoginTools, 'vault' | 'clock' | 'log' | 'onNoLogin'> {
  readonly exchange: TokenExchange;
  /** The base URL of a simulated account, whose login uses an address of the running provider. */
  readonly baseOf?: (account: string) => string;
  /** Called if the provider refuses all tokens of the account. */
  readonly onRefused: (account: string) => void;
  /** Called at the first failed refresh after a working one. The account is tried again. */
  readonly onRefreshFailed: (account: string) => void;
}

/** The pause after a failed refresh. It is shorter than any cooldown, so that a probe tries the refresh again. */
const PAUSE_MS = 5_000;
/**
 * A node that sent a refresh token this long ago and stored no answer has died, and the token may be used up. Before that time, the node
 * may only be paused.
 */
const ABANDONED_MS = 120_000;
/** The most rounds. In each of them another process may have been faster. */
const ROUNDS = 3;

export class TokenRefresh {
  readonly #login: AccountLogin;
  readonly #file: LoginImport;
  readonly #tools: RefreshTools;
  /** Whether the last refresh failed. */
  #failing = false;
  /** The exchange that failed here, if it could not be cancelled in the store. */
  #uncancelled: Lease | undefined;

  constructor(login: AccountLogin, file: LoginImport, tools: RefreshTools) {
    this.#login = login;
    this.#file = file;
    this.#tools = tools;
  }

  /** Never rejects. @param not the access token to replace */
  async run(not: string | undefined): Promise<Renewal> {
    // An import that ran before may already have a valid token.
    if (this.#login.hasOther(not)) return 'renewed';
    // The process that has the lease, or had it before, may have stored new tokens.
    const found = async (): Promise<'renewed' | undefined> => {
      await this.#login.reread();
      return this.#login.hasOther(not) ? 'renewed' : undefined;
    };
    const work = (lease: Lease | undefined): Promise<Renewal> => this.#runAlone(not, lease);
    return this.#tools.vault.whileLeased(this.#login.account, work, found).catch(() => this.#notLeased());
  }

  /** Handles that the store does not answer, or that another process does not end its refresh. */
  async #notLeased(): Promise<'failed' | 'challenged'> {
    const { account, isAbsent } = this.#login;
    // The login does not count as refused, because another process may just be storing one.
    if (isAbsent && !(await this.#file.hasLogin())) this.#tools.onNoLogin(account);
    return this.#failed(undefined);
  }

  async #runAlone(not: string | undefined, lease: Lease | undefined): Promise<Renewal> {
    for (let round = 0; round < ROUNDS; round++) {
      const outcome = await this.#exchange(lease);
      if (typeof outcome === 'string' && outcome !== 'replaced') return outcome;
      // A refresh that lost the race finds the winner's tokens in the store, and an operator's new login in the file.
      const isReplaced = outcome === 'replaced' || (await this.#login.reread()) || (await this.#file.run(lease));
      if (!isReplaced) return this.#refused(outcome.refused);
      if (this.#login.hasOther(not)) return 'renewed';
    }
    return this.#refused('refresh_token_reused');
  }

  /** `replaced`: the store has other tokens than those that were to be sent. */
  async #exchange(lease: Lease | undefined): Promise<'renewed' | 'failed' | 'challenged' | 'replaced' | { readonly refused: string }> {
    const { exchange, clock, vault, log } = this.#tools;
    const { account, config, tokens, imported, refresh } = this.#login;
    if (!tokens || imported === undefined || refresh === undefined) return { refused: 'no_refresh_token' };
    if (this.#uncancelled) await vault.cancel(account, this.#uncancelled);
    this.#uncancelled = undefined;
    const begun = await vault.begin(account, refresh, lease);
    // A larger difference means that a clock was set back.
    if (begun.kind === 'open' && Math.abs(clock.now() - begun.at) < ABANDONED_MS) return this.#failed(undefined);
    if (begun.kind === 'open') return { refused: 'refresh_interrupted' };
    if (begun.kind === 'changed') return this.#overtaken();
    const { token_url, client_id: clientId } = config;
    const url = loginAddress(token_url, 'token_url', () => this.#tools.baseOf?.(account));
    const answer = await exchange({ account, url, clientId, tokens: { ...tokens, refresh }, now: clock.now() });
    if (answer.kind === 'failed' || answer.kind === 'challenged') {
      await vault.cancel(account, lease).catch(() => {
        this.#uncancelled = lease;
      });
      return this.#failed(answer.status, answer.kind);
    }
    if (answer.kind === 'refused') {
      // The exchange stays open in the store, so that no other node sends the token again.
      this.#login.refused(refresh);
      return { refused: answer.code };
    }
    const next = { tokens: { ...answer.tokens, at: clock.now() }, imported };
    // The old refresh token is used up. The new one must be on disk in case the process dies now.
    if (!(await vault.complete(account, next, lease))) return this.#overtaken();
    this.#login.renewed(next);
    if (answer.kind === 'rotated') return this.#failed(answer.status);
    this.#failing = false;
    log.info('credential_refreshed', { account });
    return 'renewed';
  }

  /** Handles the case that another process has stored tokens since the read, or has the lease. */
  async #overtaken(): Promise<'replaced' | 'failed' | 'challenged'> {
    return (await this.#login.reread()) ? 'replaced' : this.#failed(undefined);
  }

  #failed(status: number | undefined, kind: 'failed' | 'challenged' = 'failed'): 'failed' | 'challenged' {
    const { clock, log, onRefreshFailed } = this.#tools;
    const { account } = this.#login;
    this.#login.pause(clock.now() + PAUSE_MS, kind);
    log.warn('credential_refresh_failed', { account, status, cause: kind === 'challenged' ? 'challenge_page' : undefined });
    if (!this.#failing) onRefreshFailed(account);
    this.#failing = true;
    return kind;
  }

  #refused(code: string): 'refused' {
    const { account, isSealed } = this.#login;
    // The provider has not refused a sealed login. There is no token to send.
    if (isSealed) return 'refused';
    const { file } = this.#login.config;
    const message =
      file === undefined
        ? `log in again: poolgate account login ${account}`
        : `log in again, and put the new tokens into its file; then run: poolgate account relogin ${account}`;
    this.#tools.log.error('credential_refused', { account, code, message });
    this.#tools.onRefused(account);
    return 'refused';
  }
}
