// The catalogs of all configured accounts, with a version that changes when derived data has to be rebuilt.
import type { CatalogRow } from '../../../store/schema/rows.ts';
import { parsedJson } from '../../turn/json/json.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { AccountCatalog, type AccountCatalogStatus } from './account-catalog.ts';
import { parseCatalog } from './catalog-parser.ts';
import type { ReadResult } from './catalog-refresh.ts';

export class AccountCatalogs {
  /**
   * Changes with every change of an account, entry, exposed name or visibility, and not when a read returns the same entries. Only this
   * class sets it.
   */
  version = 0;
  #accounts: ReadonlyMap<string, AccountCatalog> = new Map();

  get(id: string): AccountCatalog | undefined {
    return this.#accounts.get(id);
  }

  /** The accounts to read (Q12, AA8). */
  toRead(): readonly AccountCatalog[] {
    return [...this.#accounts.values()].filter((account) => account.visible && account.isRead);
  }

  /** The visible accounts whose last catalog read failed. */
  failed(): readonly AccountCatalog[] {
    return this.toRead().filter((account) => account.hasFailed);
  }

  status(): readonly AccountCatalogStatus[] {
    return [...this.#accounts.values()].map((account) => account.status());
  }

  /** Applies the accounts of a configuration. Accounts that stay keep their entries. */
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
    if (changed) this.version += 1;
  }

  /** Restores what an earlier process stored. A malformed row is ignored. */
  restore({ account, entries, etag, read_at }: CatalogRow): void {
    const parsed = parseCatalog(parsedJson(entries));
    if (!parsed) return;
    this.#accounts.get(account)?.restore(parsed, etag ?? undefined, read_at);
    this.version += 1;
  }

  /** Takes over what another node read. A malformed row and the row of an unknown account are ignored. */
  adopt({ account, entries, etag, read_at }: CatalogRow): void {
    const parsed = parseCatalog(parsedJson(entries));
    if (parsed && this.#accounts.get(account)?.adopt(parsed, etag ?? undefined, read_at)) this.version += 1;
  }

  /**
   * Applies the result of a read.
   * @param at Unix milliseconds
   * @returns whether the account's entries changed
   */
  apply(account: AccountCatalog, result: ReadResult, at: number): boolean {
    if ('failure' in result) {
      account.fail(result.failure, result.status);
      return false;
    }
    if (!account.accept(result.parsed, result.etag, at, result.cost)) return false;
    this.version += 1;
    return true;
  }

  /** The row of an account's last good read. */
  rowOf(account: AccountCatalog, { etag }: { readonly etag: string | undefined }, at: number): CatalogRow {
    return { account: account.id, entries: JSON.stringify(account.pristine()), etag: etag ?? null, read_at: at };
  }
}
