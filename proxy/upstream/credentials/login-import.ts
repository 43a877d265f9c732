// The login in the operator's file: imported if it is another one than the store's, and not if it may be spent (Q9).
import type { Lease } from '../../../store/store.ts';
import type { AccountLogin, LoginTools } from './account-login.ts';
import type { Tokens } from './tokens.ts';
import { tokensInFile, writtenAt } from './tokens-file.ts';

export interface ImportTools extends Pick<LoginTools, 'vault' | 'clock' | 'log'> {
  /** The operator's file has a login that was not imported before. */
  readonly onImported: (account: string) => void;
}

const NO_TOKENS = 'its tokens file is missing or has no tokens; the stored login stays in use';

/**
 * The file's login on an operator's command: `former`: it is the one that a sealed login began with; `known`: the current one; `no_file`:
 * the account has none, and its login comes from `account login`.
 */
export type OrderedImport = 'imported' | 'known' | 'former' | 'unreadable' | 'no_file';

interface ImportOptions {
  /** An operator's command imports a former login too. */
  readonly by?: 'operator';
  readonly lease?: Lease | undefined;
}

export class LoginImport {
  readonly #login: AccountLogin;
  readonly #tools: ImportTools;
  /** Of a sealed login: the first login of the file, which may be the one that it began with, and be spent. Only an operator imports it. */
  #suspect: string | undefined;

  constructor(login: AccountLogin, tools: ImportTools) {
    this.#login = login;
    this.#tools = tools;
  }

  /** @param lease of the refresh that looks for another login. @returns whether the login is another one now */
  async run(lease?: Lease): Promise<boolean> {
    await this.#login.read();
    const { file } = this.#login.config;
    const tokens = file === undefined ? undefined : await this.#inFile(file);
    return tokens !== undefined && this.#import(tokens, { lease });
  }

  async runByOperator(): Promise<OrderedImport> {
    const { file } = this.#login.config;
    if (file === undefined) return 'no_file';
    const tokens = await this.#inFile(file);
    if (!tokens) return 'unreadable';
    if (await this.#isFormer(tokens, file)) return 'former';
    await this.#login.read();
    return (await this.#import(tokens, { by: 'operator' })) ? 'imported' : 'known';
  }

  async #import(tokens: Tokens, { by, lease }: ImportOptions): Promise<boolean> {
    const { vault, log, onImported } = this.#tools;
    const { account } = this.#login;
    const imported = vault.importOf(tokens);
    if (imported === this.#login.imported) return false;
    if (this.#login.isSealed) this.#suspect ??= imported;
    if (by !== 'operator' && imported === this.#suspect) return false;
    if (by !== 'operator' && (await vault.wasImported(account, imported))) return false;
    const login = { tokens, imported };
    const stored = await vault.import(account, login, lease).catch(() => 'failed');
    if (stored === 'failed') log.warn('credential_import_failed', { account });
    if (stored === false) return this.#login.reread();
    if (stored !== true) return false;
    this.#login.replaced(login);
    log.info('credential_imported', { account });
    onImported(account);
    return true;
  }

  /**
   * Whether the file was written before the sealed login was stored: then that login was refreshed from it, and the file's refresh token
   * may be spent.
   */
  async #isFormer(tokens: Tokens, file: string): Promise<boolean> {
    const { vault } = this.#tools;
    const { account, isSealed } = this.#login;
    if (!isSealed || vault.importOf(tokens) !== this.#suspect) return false;
    const [written, stored] = await Promise.all([writtenAt(file), vault.storedAt(account)]);
    return written !== undefined && stored !== undefined && written <= stored;
  }

  async #inFile(file: string): Promise<Tokens | undefined> {
    const { clock, log } = this.#tools;
    const { account } = this.#login;
    const tokens = await tokensInFile(file, clock.now());
    if (!tokens) log.warn('credential_file_unreadable', { account, message: NO_TOKENS });
    return tokens;
  }
}
