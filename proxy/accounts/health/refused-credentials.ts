// The digests of static bearers that a provider refused. A different bearer, after a reload or a restart, clears the account's state (Q5).
import { hash } from 'node:crypto';
import type { CredentialRow, Store } from '../../../store/store.ts';

/**
 * Begins the name of a refusal in the store. No account has such a name, so that a refusal does not replace the login that an account had
 * before its static bearer.
 */
const BEARER = 'bearer/';

const accountOf = (name: string): string => (name.startsWith(BEARER) ? name.slice(BEARER.length) : name);

export class RefusedCredentials {
  readonly #store: Pick<Store['credentials'], 'load' | 'save'>;
  readonly #now: () => number;
  readonly #refused = new Map<string, string>();
  #bearers: ReadonlyMap<string, string> = new Map();

  constructor(store: Pick<Store['credentials'], 'load' | 'save'>, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  async load(): Promise<void> {
    const rows = await this.#store.load().catch(() => []);
    for (const row of rows.toSorted((one, other) => one.updated_at - other.updated_at)) this.adopt(row);
  }

  /** Takes over a refusal that another process recorded. @returns the account */
  adopt({ account: name, imported, sealed }: Pick<CredentialRow, 'account' | 'imported' | 'sealed'>): string {
    const account = accountOf(name);
    if (sealed === null) this.#refused.set(account, imported);
    return account;
  }

  /** @param bearers account id to its configured static bearer */
  configure(bearers: ReadonlyMap<string, string>): void {
    this.#bearers = bearers;
  }

  /** Whether the bearer is the configured one. */
  isCurrent(account: string, bearer: string | undefined): boolean {
    return this.#bearers.get(account) === bearer;
  }

  /** Records that the configured bearer was refused. Credentials that are refreshed are handled elsewhere. */
  recordRefusal(account: string): void {
    const imported = this.#digestOf(account);
    if (imported === undefined) return;
    this.#refused.set(account, imported);
    void this.#store.save({ account: BEARER + account, imported, sealed: null, updated_at: this.#now() }).catch(() => undefined);
  }

  /** Whether the configured bearer differs from the refused one. */
  isReplaced(account: string): boolean {
    const refused = this.#refused.get(account);
    const imported = this.#digestOf(account);
    return refused !== undefined && imported !== undefined && refused !== imported;
  }

  #digestOf(account: string): string | undefined {
    const bearer = this.#bearers.get(account);
    return bearer === undefined ? undefined : hash('sha256', `poolgate credential\n${account}\n${bearer}`, 'hex').slice(0, 32);
  }
}
