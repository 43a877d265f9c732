// The accounts with a known state of health, in memory over the rows of the store. All other configured accounts are in the initial state.
import type { CompactWay } from '../compact-paths.ts';
import { AccountHealth } from './account-health.ts';
import type { AccountStates } from './account-states.ts';
import type { ResultTime } from './circuit-breaker.ts';
import { type Adopted, adoptHealth, storedHealth } from './health-status.ts';

export interface KnownOptions {
  /** The rows, which are already loaded. */
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

  /** The account with its known state, or in the initial state. */
  of(id: string): AccountHealth {
    return this.#accounts.get(id) ?? new AccountHealth(id, () => this.#options.compacts(id));
  }

  /** Like `of`, for a change of the state: the account becomes a known one. */
  open(id: string): AccountHealth {
    const account = this.of(id);
    this.#accounts.set(id, account);
    return account;
  }

  /** Forgets an account that is back in the initial state. */
  settle({ id, isInitial }: AccountHealth): void {
    if (isInitial) this.#accounts.delete(id);
  }

  /** @returns whether the account was known */
  forget(id: string): boolean {
    return this.#accounts.delete(id);
  }

  all(): readonly AccountHealth[] {
    return [...this.#accounts.values()];
  }

  /** Drops removed accounts, here and in the store. @returns the ids of new accounts */
  configure(ids: readonly string[]): readonly string[] {
    const former = this.#configured;
    this.#configured = new Set(ids);
    const { states } = this.#options;
    for (const id of states.accounts()) if (!this.#configured.has(id)) states.drop(id);
    for (const id of this.#accounts.keys()) if (!this.#configured.has(id)) this.#accounts.delete(id);
    return ids.filter((id) => !former.has(id));
  }

  /** Restores the state of an account from the rows that this process has read. */
  adopt(id: string, time: ResultTime): Adopted & { readonly account: AccountHealth } {
    const account = this.open(id);
    const adopted = adoptHealth(this.#options.states.rows(id), account, time);
    this.settle(account);
    return { account, ...adopted };
  }

  /** Stores the state of an account. @param lease of the attempt that probed the account; it guards the write */
  store(account: AccountHealth, lease?: Parameters<AccountStates['putHealth']>[2]): void {
    this.#options.states.putHealth(account.id, storedHealth(account), lease);
  }
}
