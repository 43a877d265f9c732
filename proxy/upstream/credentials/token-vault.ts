// Tokens in the store. They are encrypted, with a digest of the imported login, by which a new login of the operator is recognised.
import type { CredentialImportRow, CredentialRow, Lease, NewCredentialRow, Store } from '../../../store/store.ts';
import { LATE } from '../../base/time/clock.ts';
import type { Cipher } from '../../encryption/cipher.ts';
import type { KeyedDigest } from '../../encryption/digest.ts';
import type { StoreKey } from '../../encryption/store-key.ts';
import type { ExclusiveTask, ExclusiveWork } from '../../nodes/exclusive-work.ts';
import { parseTokens, type Tokens } from './tokens.ts';

export interface StoredLogin {
  readonly tokens: Tokens;
  /** The name of the login: a digest of its first refresh token, from the operator's file or as the provider issued it. */
  readonly imported: string;
}

/** A login that was stored before, by this account or by another one. */
export type FormerImport = Pick<CredentialImportRow, 'account' | 'at'>;

/** Ensures that only one process on the store refreshes an account at a time. */
export interface RefreshLock {
  readonly exclusive: ExclusiveWork;
  /** Whether nodes with files of their own use the store. Then every write is guarded, and no refresh token is sent twice. */
  readonly shared: boolean;
}

/**
 * Whether a refresh token may be sent. `changed`: the store now has other tokens, or the lease was lost. `open`: the token was sent at this
 * time, and no answer to it is stored.
 */
export type Begun = { readonly kind: 'begun' | 'changed' } | { readonly kind: 'open'; readonly at: number };

/** The longest wait for another process. A turn waits 15 s for a refresh. */
const OTHER_PROCESS_MS = 12_000;

/** The result if the stored login was sealed with another key. */
export const SEALED = Symbol('sealed');

const BEGUN: Begun = { kind: 'begun' };
const CHANGED: Begun = { kind: 'changed' };

export class TokenVault {
  readonly #lock: RefreshLock | undefined;
  readonly #store: Store['credentials'];
  readonly #cipher: Cipher;
  readonly #digest: KeyedDigest;

  constructor(store: Store['credentials'], key: StoreKey, lock?: RefreshLock) {
    this.#store = store;
    this.#lock = lock;
    this.#cipher = key.cipher('credentials');
    this.#digest = key.digest('credentials');
  }

  /** The name of an import: the refresh token, or the access token if the file has no refresh token. */
  importOf({ refresh, access }: Tokens): string {
    return this.#digest.of(refresh ?? access ?? '');
  }

  /** The current tokens. Undefined if there are none. */
  async find(account: string): Promise<StoredLogin | typeof SEALED | undefined> {
    const row = await this.#store.find(account);
    return this.#opened(row) ?? (row?.sealed ? SEALED : undefined);
  }

  /** When the login was stored, even if it cannot be opened; Unix milliseconds. */
  async storedAt(account: string): Promise<number | undefined> {
    return (await this.#store.find(account))?.updated_at;
  }

  /**
   * Stores an imported login. It is durable when the promise resolves.
   * @param lease the account's lease, if the caller has it
   * @returns false if another node has imported it already, or if the lease was lost
   */
  async import(account: string, login: StoredLogin, lease: Lease | undefined): Promise<boolean> {
    if (this.#lock?.shared && !lease) {
      return this.whileLeased(account, async (own) => own !== undefined && this.import(account, login, own));
    }
    if (this.#lock?.shared && (await this.#store.find(account))?.imported === login.imported) return false;
    return this.replace(account, login, lease);
  }

  /**
   * Stores a login that replaces the account's former one, and remembers both, so that no file restores the replaced login.
   * @param lease the account's lease, if nodes share the store
   * @returns false if the lease was lost
   */
  async replace(account: string, login: StoredLogin, lease: Lease | undefined): Promise<boolean> {
    const row = this.#rowOf(account, login);
    const former = await this.#store.find(account);
    if (!this.#lock?.shared) await this.#store.save(row);
    else if (!lease || !(await this.#store.saveUnder(lease, row))) return false;
    for (const imported of new Set([former?.imported ?? login.imported, login.imported])) {
      await this.#store.recordImport({ account, imported, at: row.updated_at });
    }
    return true;
  }

  /** Whether the account had this login before. An old file, here or on another node, must not restore a login that was replaced. */
  wasImported(account: string, imported: string): Promise<boolean> {
    return this.#store.wasImported(account, imported);
  }

  /** The account that had this login first, if any had it. */
  async firstImport(imported: string): Promise<FormerImport | undefined> {
    const [first] = await this.#store.importsOf(imported);
    return first;
  }

  /** The logins of all accounts that can be opened with this key. */
  async all(): Promise<readonly (StoredLogin & { readonly account: string })[]> {
    const rows = await this.#store.load();
    return rows.flatMap((row) => {
      const login = this.#opened(row);
      return login ? [{ account: row.account, ...login }] : [];
    });
  }

  /** Begins an exchange. Call it before this refresh token is sent. */
  async begin(account: string, refresh: string, lease: Lease | undefined): Promise<Begun> {
    if (!this.#lock?.shared) return BEGUN;
    const row = await this.#store.find(account);
    if (!lease || !row || this.#opened(row)?.tokens.refresh !== refresh) return CHANGED;
    if (row.exchange_token !== null) return { kind: 'open', at: row.exchange_at ?? 0 };
    return (await this.#store.exchange.begin(row, lease)) ? BEGUN : CHANGED;
  }

  /**
   * Replaces the tokens that were used up. It is durable when the promise resolves.
   * @returns false if another login was imported since the read
   */
  async complete(account: string, login: StoredLogin, lease: Lease | undefined): Promise<boolean> {
    const row = this.#rowOf(account, login);
    if (lease && this.#lock?.shared) return this.#store.exchange.complete(row, lease);
    await this.#store.save(row);
    return true;
  }

  /** Allows the refresh token to be sent again. Without a lease this also applies to a token that another process sent. */
  async cancel(account: string, lease?: Lease): Promise<void> {
    if (this.#lock?.shared) await this.#store.exchange.cancel(account, lease);
  }

  /**
   * Runs work while no other process refreshes or imports the account. Other processes may have stored new tokens before.
   * @throws Error if another process does not end its refresh, or if the store fails
   */
  async whileLeased<Result>(
    account: string,
    work: (lease: Lease | undefined) => Promise<Result>,
    found: ExclusiveTask<Result>['found'] = async () => undefined,
  ): Promise<Result> {
    if (!this.#lock) return (await found()) ?? work(undefined);
    const result = await this.#lock.exclusive.run({
      name: `refresh/${account}`,
      waitMs: OTHER_PROCESS_MS,
      found,
      work: (held) => (held ? work(held.lease) : Promise.reject(new Error('the store does not answer'))),
    });
    if (result === LATE) throw new Error('another process refreshes the credential');
    return result as Result;
  }

  /** Reports that other processes have stored tokens of this account. */
  announce(account: string): void {
    this.#lock?.exclusive.announce(`refresh/${account}`);
  }

  #rowOf(account: string, { tokens, imported }: StoredLogin): NewCredentialRow {
    return { account, imported, sealed: this.#cipher.seal(JSON.stringify(tokens), account), updated_at: tokens.at };
  }

  #opened(row: CredentialRow | undefined): StoredLogin | undefined {
    const text = row?.sealed ? this.#cipher.open(row.sealed, row.account) : undefined;
    const tokens = text === undefined ? undefined : parseTokens(text);
    return row && tokens && { tokens, imported: row.imported };
  }
}
