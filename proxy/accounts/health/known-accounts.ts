// The accounts that have a state of health, in memory over the rows of the store. All other configured accounts are as at first.
import type { CompactWay } from '../compact-paths.ts';
import { AccountHealth } from './account-health.ts';
import type { AccountStates } from './account-states.ts';
import type { ResultTime } from './circuit-breaker.ts';
import { type Adopted, adoptHealth, storedHealth } from './health-status.ts';

export interface KnownOptions {
  /** Loaded before. */
  readonly states: AccountStates;
  /** How an account compacts now (Q27). */
  readonly compacts: (account: string) => CompactWay;
}

export class KnownAccounts {
  readonly #options: KnownOptions;
  readonly #accounts = new Map<string, AccountHealth>();
  #configured: ReadonlySet<string> = new Set();

  constructor(options: KnownOptions) {
    this.#options = options;
  }

  get configured(): ReadonlySet<string> {
    return this.#configured;
  }

  find(id: string): AccountHealth | undefined {
    return this.#accounts.get(id);
  }

  /** The account as it is known, or as at first. */
  of(id: string): AccountHealth {
    return this.#accounts.get(id) ?? new AccountHealth(id, () => this.#options.compacts(id));
  }

  /** The same, for a change of its state. */
  open(id: string): AccountHealth {
    const account = this.of(id);
    this.#accounts.set(id, account);
    return account;
  }

  /** Forgets an account that is as at first again. */
  settle({ id, isInitial }: AccountHealth): void {
    if (isInitial) this.#accounts.delete(id);
  }

  /** @returns whether it was known */
  forget(id: string): boolean {
    return this.#accounts.delete(id);
  }

  all(): readonly AccountHealth[] {
    return [...this.#accounts.values()];
  }

  /** Drops accounts that were removed, here and in the store. @returns those that are new */
  configure(ids: readonly string[]): readonly string[] {
    const former = this.#configured;
    this.#configured = new Set(ids);
    const { states } = this.#options;
    for (const id of states.accounts()) if (!this.#configured.has(id)) states.drop(id);
    for (const id of this.#accounts.keys()) if (!this.#configured.has(id)) this.#accounts.delete(id);
    return ids.filter((id) => !former.has(id));
  }

  /** Takes over the store's state of an account, from the rows that this process has read. */
  adopt(id: string, time: ResultTime): Adopted & { readonly account: AccountHealth } {
    const account = this.open(id);
    const adopted = adoptHealth(this.#options.states.rows(id), account, time);
    this.settle(account);
    return { account, ...adopted };
  }

  /** @param lease of the attempt that probed the account: it guards the write */
  store(account: AccountHealth, lease?: Parameters<AccountStates['putHealth']>[2]): void {
    this.#options.states.putHealth(account.id, storedHealth(account), lease);
  }
}
