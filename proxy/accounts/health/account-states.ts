// The account_state rows as this process knows them: health and quota each set their own fields, and neither overwrites the other's.
import type { AccountStateRow, Store } from '../../../store/store.ts';

export type HealthFields = Pick<AccountStateRow, 'health' | 'cooldown_until' | 'streak' | 'cause'>;

const WELL: HealthFields = { health: 'active', cooldown_until: null, streak: 0, cause: null };

/** Memory is the truth, and the store its copy: nobody waits for a write, and what says the same again is not written. */
export class AccountStates {
  readonly #store: Store['accounts'];
  readonly #now: () => number;
  /** By account, then by model; the empty model is the account as a whole. */
  readonly #rows = new Map<string, Map<string, AccountStateRow>>();

  constructor(store: Store['accounts'], now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** Reads what an earlier process left. A store that cannot be read costs what it knew, not the start. */
  async load(): Promise<void> {
    for (const row of await this.#store.load().catch(() => [])) this.#of(row.account).set(row.model, row);
  }

  accounts(): readonly string[] {
    return [...this.#rows.keys()];
  }

  rows(account: string): readonly AccountStateRow[] {
    return [...(this.#rows.get(account)?.values() ?? [])];
  }

  /** All that health has to say of an account, by model; models that are not in it are well. */
  putHealth(account: string, fields: ReadonlyMap<string, HealthFields>): void {
    const rows = this.#rows.get(account);
    for (const model of rows?.keys() ?? []) if (!fields.has(model)) this.#put(account, model, WELL);
    for (const [model, own] of fields) this.#put(account, model, own);
  }

  /** Quota windows, as their owner reads them again. */
  putWindows(account: string, windows: object | null): void {
    this.#put(account, '', { windows });
  }

  /** An account that left the configuration: under its name another one may come. */
  drop(account: string): void {
    for (const { model } of this.rows(account)) this.#put(account, model, { ...WELL, windows: null });
    this.#rows.delete(account);
  }

  #of(account: string): Map<string, AccountStateRow> {
    const rows = this.#rows.get(account) ?? new Map<string, AccountStateRow>();
    this.#rows.set(account, rows);
    return rows;
  }

  #put(account: string, model: string, fields: Partial<HealthFields & Pick<AccountStateRow, 'windows'>>): void {
    const known = this.#rows.get(account)?.get(model);
    const before = known ?? { ...WELL, windows: null };
    if ((Object.keys(fields) as (keyof typeof fields)[]).every((name) => fields[name] === before[name])) return;
    const row: AccountStateRow = { account, model, ...before, ...fields, updated_at: this.#now() };
    this.#of(account).set(model, row);
    this.#store.put(row);
  }
}
