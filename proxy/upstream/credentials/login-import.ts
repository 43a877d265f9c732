// Imports the login in the operator's file if it differs from the stored one, unless it may be used up (Q9).
import { readFile, stat } from 'node:fs/promises';
import type { Lease } from '../../../store/store.ts';
import type { AccountLogin, LoginTools } from './account-login.ts';
import { fileTokens, type Tokens } from './tokens.ts';

export interface ImportTools extends Pick<LoginTools, 'vault' | 'clock' | 'log'> {
  /** Called if the operator's file has a login that was not imported before. */
  readonly onImported: (account: string) => void;
}

const NO_TOKENS = 'its tokens file is missing or has no tokens; the stored login stays in use';

/**
 * The result of an import that an operator ordered. `former`: it is the login that a sealed login began with. `known`: it is the current
 * login. `no_file`: the account has no file, and its login comes from `account login`.
 */
export type OrderedImport = 'imported' | 'known' | 'former' | 'unreadable' | 'no_file';

interface ImportOptions {
  /** Set for an operator's command, which imports a former login too. */
  readonly by?: 'operator';
  readonly lease?: Lease | undefined;
}

export class LoginImport {
  readonly #login: AccountLogin;
  readonly #tools: ImportTools;
  /**
   * The first login of the file after a sealed login was found. The sealed login may have begun with it, so it may be used up. Only an
   * operator imports it.
   */
  #suspect: string | undefined;

  constructor(login: AccountLogin, tools: ImportTools) {
    this.#login = login;
    this.#tools = tools;
  }

  /** @param lease the lease of the refresh that looks for another login @returns whether the login has changed */
  async run(lease?: Lease): Promise<boolean> {
    await this.#login.read();
    const { file } = this.#login.config;
    const tokens = file === undefined ? undefined : await this.#inFile(file);
    return tokens !== undefined && this.#import(tokens, { lease });
  }

  /** Whether the operator's file has a login, which may not be imported yet. */
  async hasLogin(): Promise<boolean> {
    const { file } = this.#login.config;
    return file !== undefined && (await tokensInFile(file, this.#tools.clock.now())) !== undefined;
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
   * Whether the file was written before the sealed login was stored. The sealed login then came from a refresh of this file's login, and
   * the file's refresh token may be used up.
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

/** Undefined if the file has no tokens. It may be missing or half written. No parser error is reported, because it would quote the file. */
async function tokensInFile(path: string, now: number): Promise<Tokens | undefined> {
  try {
    return fileTokens(JSON.parse(await readFile(path, 'utf8')), now);
  } catch {
    return undefined;
  }
}

/** When the file was written, in Unix milliseconds; undefined if it is missing. */
async function writtenAt(path: string): Promise<number | undefined> {
  try {
    return Math.floor((await stat(path)).mtimeMs);
  } catch {
    return undefined;
  }
}
