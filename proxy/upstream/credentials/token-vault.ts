// Tokens in the store: encrypted, with a digest of the imported login that identifies a new login of the operator.

import { randomUUID } from 'node:crypto';
import type { CredentialRow, Store } from '../../../store/store.ts';
import type { Clock } from '../../clock.ts';
import type { Cipher } from '../../encryption/cipher.ts';
import type { KeyedDigest } from '../../encryption/digest.ts';
import type { StoreKey } from '../../encryption/store-key.ts';
import { type Tokens, tokensOf } from './tokens.ts';

export interface StoredLogin {
  readonly tokens: Tokens;
  /** Digest of the refresh token that the operator's file held when it was imported. */
  readonly imported: string;
}

/** Makes one refresh at a time hold over all processes on the store. */
export interface RefreshLock {
  readonly leases: Store['leases'];
  readonly clock: Pick<Clock, 'after'>;
}

/** Longer than a refresh: the endpoint's 10 s, and the disk. After this time the refresh of a process that died is taken over. */
const LEASE_MS = 30_000;
const POLL_MS = 250;
/** A turn waits 15 s for a refresh. */
const MOST_POLLS = 48;

export class TokenVault {
  readonly #owner = randomUUID();
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

  /** What names an import: the refresh token, or the access token where the file has no other. */
  importOf({ refresh, access }: Tokens): string {
    return this.#digest.of(refresh ?? access ?? '');
  }

  /** The current tokens. Undefined where there are none that this key decrypts. */
  async find(account: string): Promise<StoredLogin | undefined> {
    return this.#opened(await this.#store.find(account));
  }

  /** Durable once it resolves. */
  save(account: string, { tokens, imported }: StoredLogin): Promise<void> {
    const sealed = this.#cipher.seal(JSON.stringify(tokens), account);
    return this.#store.save({ account, imported, sealed, updated_at: tokens.at });
  }

  /**
   * Runs a refresh while no other process refreshes the account, which may have stored new tokens meanwhile.
   * @throws Error where another process does not end its refresh, StoreError where the store cannot be asked
   */
  async whileLeased<Result>(account: string, refresh: () => Promise<Result>): Promise<Result> {
    const lock = this.#lock;
    if (!lock) return refresh();
    const name = `refresh/${account}`;
    for (let poll = 0; poll < MOST_POLLS; poll++) {
      const lease = await lock.leases.acquire(name, this.#owner, LEASE_MS);
      // A lease that cannot be released expires.
      if (lease) return refresh().finally(() => lock.leases.release(lease).catch(() => undefined));
      await new Promise<void>((resolve) => void lock.clock.after(POLL_MS, resolve));
    }
    throw new Error('another process refreshes the credential');
  }

  #opened(row: CredentialRow | undefined): StoredLogin | undefined {
    const text = row?.sealed ? this.#cipher.open(row.sealed, row.account) : undefined;
    const tokens = text === undefined ? undefined : tokensOf(text);
    return row && tokens && { tokens, imported: row.imported };
  }
}
