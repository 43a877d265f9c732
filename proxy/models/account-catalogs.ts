// The catalogs of all configured accounts, and the version by which everything that is derived from them is known to be current.
import type { CatalogRow } from '../../store/rows.ts';
import type { AccountConfig } from '../turn/settings.ts';
import { AccountCatalog, type AccountCatalogStatus } from './account-catalog.ts';
import { parseCatalog } from './catalog-parser.ts';
import type { ReadResult } from './catalog-round.ts';

export class AccountCatalogs {
  #accounts: ReadonlyMap<string, AccountCatalog> = new Map();
  #version = 0;

  /** Moves whenever an account, an entry, an exposed name or a visibility changed; a read that says the same again moves nothing. */
  get version(): number {
    return this.#version;
  }

  get(id: string): AccountCatalog | undefined {
    return this.#accounts.get(id);
  }

  /** The accounts that are to be read (Q12). */
  visible(): readonly AccountCatalog[] {
    return [...this.#accounts.values()].filter((account) => account.visible);
  }

  status(): readonly AccountCatalogStatus[] {
    return [...this.#accounts.values()].map((account) => account.status());
  }

  /** Takes the accounts of a configuration. What is known of an account that stays, stays. */
  configure(accounts: readonly AccountConfig[]): void {
    const next = new Map<string, AccountCatalog>();
    let changed = accounts.length !== this.#accounts.size;
    for (const config of accounts) {
      const account = this.#accounts.get(config.id);
      if (account) changed = account.configure(config) || changed;
      else changed = true;
      next.set(config.id, account ?? new AccountCatalog(config));
    }
    this.#accounts = next;
    if (changed) this.#version += 1;
  }

  /** What an earlier process stored; a row that cannot be read is as good as none. */
  restore({ account, entries, etag, read_at }: CatalogRow): void {
    const parsed = parseCatalog(jsonOf(entries));
    if (!parsed) return;
    this.#accounts.get(account)?.restore(parsed, etag ?? undefined, read_at);
    this.#version += 1;
  }

  /**
   * Takes what a read brought.
   * @param at unix milliseconds
   * @returns the row to store, where the account's entries are others now
   */
  take(account: AccountCatalog, result: ReadResult, at: number): CatalogRow | undefined {
    if ('failure' in result) {
      account.fail(result.failure, result.status);
      return undefined;
    }
    if (!account.accept(result.parsed, result.etag, at)) return undefined;
    this.#version += 1;
    return { account: account.id, entries: JSON.stringify(account.pristine()), etag: result.etag ?? null, read_at: at };
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
