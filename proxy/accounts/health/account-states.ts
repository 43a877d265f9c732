// The account_state rows in memory: a cache of the store's rows, which health and quota patch by field (Q5, Q8).
import type { AccountStatePatch, AccountStateRow, Store } from '../../../store/store.ts';

export type HealthFields = Pick<AccountStateRow, 'health' | 'cooldown_until' | 'streak' | 'cause'>;

const HEALTHY: HealthFields = { health: 'active', cooldown_until: null, streak: 0, cause: null };

const HEALTH_FIELDS = Object.keys(HEALTHY) as (keyof HealthFields)[];

/** Reads of one row that writes of this process overtook, before its refresh is left to the next change. */
const REFRESH_TRIES = 3;

/**
 * The store is the truth: other processes patch the same rows, and `refresh` reads what they wrote. A patch has the fields of one
 * owner only, health or quota, so that neither erases what the other one wrote, here or in another process. Patches are queued: no
 * turn waits for the disk. Values that are in memory already are not written.
 */
export class AccountStates {
  readonly #store: Store['accounts'];
  readonly #now: () => number;
  /** By account, then by model; the empty model is the account as a whole. */
  readonly #rows = new Map<string, Map<string, AccountStateRow>>();

  constructor(store: Store['accounts'], now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** Without a readable store the process starts with empty state. */
  async load(): Promise<void> {
    for (const row of await this.#store.load().catch(() => [])) this.#of(row.account).set(row.model, row);
  }

  /**
   * Reads rows that another process wrote.
   * @param keys account and model of each, as the change feed reports them
   * @returns the ids of all accounts with changed health
   * @throws StoreError; then the rows have to be refreshed again
   */
  async refresh(keys: readonly (readonly [account: string, model: string])[]): Promise<ReadonlySet<string>> {
    const changed = new Set<string>();
    for (const [account, model] of keys) if (await this.#refreshRow(account, model)) changed.add(account);
    return changed;
  }

  accounts(): readonly string[] {
    return [...this.#rows.keys()];
  }

  rows(account: string): readonly AccountStateRow[] {
    return [...(this.#rows.get(account)?.values() ?? [])];
  }

  /** The health of an account by model, in whole: models that are not in it are healthy. */
  putHealth(account: string, fields: ReadonlyMap<string, HealthFields>): void {
    const rows = this.#rows.get(account);
    for (const model of rows?.keys() ?? []) if (!fields.has(model)) this.#patch(account, model, HEALTHY);
    for (const [model, own] of fields) this.#patch(account, model, own);
  }

  /** Quota windows, in a shape that only quota interprets. */
  putWindows(account: string, windows: object | null): void {
    this.#patch(account, '', { windows });
  }

  /** Resets the rows of an account that left the configuration: another one may get its name later. */
  drop(account: string): void {
    for (const { model } of this.rows(account)) this.#patch(account, model, { ...HEALTHY, windows: null });
    this.#rows.delete(account);
  }

  #of(account: string): Map<string, AccountStateRow> {
    const rows = this.#rows.get(account) ?? new Map<string, AccountStateRow>();
    this.#rows.set(account, rows);
    return rows;
  }

  #patch(account: string, model: string, fields: HealthFields | Partial<AccountStateRow>): void {
    const before = this.#rows.get(account)?.get(model) ?? { ...HEALTHY, windows: null };
    const own = wholeMilliseconds(fields);
    if ((Object.keys(own) as (keyof HealthFields)[]).every((name) => own[name] === before[name])) return;
    const patch: AccountStatePatch = { account, model, ...own, updated_at: this.#now() };
    this.#of(account).set(model, { ...before, ...patch });
    this.#store.patch(patch);
  }

  /** A patch of this process replaces the row in memory: a row that was read before the patch was queued is read again. */
  async #refreshRow(account: string, model: string): Promise<boolean> {
    for (let tries = 0; tries < REFRESH_TRIES; tries++) {
      const before = this.#rows.get(account)?.get(model);
      const stored = await this.#store.find(account, model);
      if (this.#rows.get(account)?.get(model) !== before) continue;
      if (!stored) return false;
      this.#of(account).set(model, stored);
      return HEALTH_FIELDS.some((name) => stored[name] !== (before ?? HEALTHY)[name]);
    }
    return false;
  }
}

/** A provider may state its reset in fractions of a second. */
const wholeMilliseconds = (fields: Partial<AccountStateRow>): Partial<AccountStateRow> =>
  fields.cooldown_until ? { ...fields, cooldown_until: Math.ceil(fields.cooldown_until) } : fields;
