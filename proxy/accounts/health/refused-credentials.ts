// Which static bearer a provider refused, as a digest: another one clears the account's state, on reload or after a restart (Q5).
import { hash } from 'node:crypto';
import type { Store } from '../../../store/store.ts';

export class RefusedCredentials {
  readonly #store: Store['credentials'];
  readonly #now: () => number;
  readonly #refused = new Map<string, string>();
  #bearers: ReadonlyMap<string, string> = new Map();

  constructor(store: Store['credentials'], now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  async load(): Promise<void> {
    for (const { account, imported, sealed } of await this.#store.load().catch(() => []))
      if (sealed === null) this.#refused.set(account, imported);
  }

  /** @param bearers account id to its static bearer, as configured from now on */
  configure(bearers: ReadonlyMap<string, string>): void {
    this.#bearers = bearers;
  }

  /** Whether an attempt carried the bearer that is configured now. */
  isCurrent(account: string, bearer: string | undefined): boolean {
    return this.#bearers.get(account) === bearer;
  }

  refuse(account: string): void {
    const imported = this.#digestOf(account);
    // Other kinds of credentials are looked after by whoever refreshes them.
    if (imported === undefined) return;
    this.#refused.set(account, imported);
    void this.#store.save({ account, imported, sealed: null, updated_at: this.#now() }).catch(() => undefined);
  }

  replaced(account: string): boolean {
    const refused = this.#refused.get(account);
    const imported = this.#digestOf(account);
    return refused !== undefined && imported !== undefined && refused !== imported;
  }

  #digestOf(account: string): string | undefined {
    const bearer = this.#bearers.get(account);
    return bearer === undefined ? undefined : hash('sha256', `poolgate credential\n${account}\n${bearer}`, 'hex').slice(0, 32);
  }
}
