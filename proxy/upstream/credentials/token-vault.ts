// Tokens in the store: encrypted, with a digest of what was imported, so that a new login of the operator's is told from an old one.

import type { CredentialRow, Store } from '../../../store/store.ts';
import type { Cipher } from '../../encryption/cipher.ts';
import type { KeyedDigest } from '../../encryption/digest.ts';
import type { StoreKey } from '../../encryption/store-key.ts';
import { type Tokens, tokensOf } from './tokens.ts';

export interface Kept {
  readonly tokens: Tokens;
  /** Digest of the refresh token that the operator's file held when it was imported. */
  readonly imported: string;
}

export class TokenVault {
  readonly #store: Store['credentials'];
  readonly #cipher: Cipher;
  readonly #digest: KeyedDigest;

  constructor(store: Store['credentials'], key: StoreKey) {
    this.#store = store;
    this.#cipher = key.cipher('credentials');
    this.#digest = key.digest('credentials');
  }

  /** What names an import: the refresh token, or the access token where the file has no other. */
  importOf({ refresh, access }: Tokens): string {
    return this.#digest.of(refresh ?? access ?? '');
  }

  /** As it stands now. Undefined where there is nothing, or nothing that this key opens. */
  async find(account: string): Promise<Kept | undefined> {
    return this.#opened(await this.#store.find(account));
  }

  /** Durable once it resolves. */
  save(account: string, { tokens, imported }: Kept): Promise<void> {
    const sealed = this.#cipher.seal(JSON.stringify(tokens), account);
    return this.#store.save({ account, imported, sealed, updated_at: tokens.at });
  }

  #opened(row: CredentialRow | undefined): Kept | undefined {
    const text = row?.sealed ? this.#cipher.open(row.sealed, row.account) : undefined;
    const tokens = text === undefined ? undefined : tokensOf(text);
    return row && tokens && { tokens, imported: row.imported };
  }
}
