// The account_state rows in memory: a cache of the store's rows, of which health and quota each patch their own fields (Q5, Q8).
import type { AccountStatePatch, AccountStateRow, Lease, Store } from '../../../store/store.ts';

export type HealthFields = Pick<AccountStateRow, 'health' | 'cooldown_until' | 'streak' | 'cause'>;

const HEALTHY: HealthFields = { health: 'active', cooldown_until: null, streak: 0, cause: null };

const NO_EVIDENCE = { windows: null, missing_compact_path: null, compact_path_missing_at: null } as const;

const HEALTH_FIELDS = Object.keys(HEALTHY) as (keyof HealthFields)[];

/** The largest expected difference between the clocks of nodes. */
const SKEW_MS = 1_000;

/** How often a row is read again because this process wrote it during the read. After that its refresh is left to the next change. */
const REFRESH_TRIES = 3;

/**
 * The store is the truth: other processes patch the same rows, and `refresh` reads what they wrote. A patch has only the fields of health
 * or those of quota, so that neither erases what the other wrote, here or in another process. Patches are queued, so that no turn waits for
 * the disk. Values that have not changed are not written.
 */
export class AccountStates {
  readonly #store: Store['accounts'];
  readonly #now: () => number;
  readonly #shared: boolean;
  /** Rows by account, then by model. The empty model is the account as a whole. */
  readonly #rows = new Map<string, Map<string, AccountStateRow>>();
  readonly #listeners: ((accounts: ReadonlySet<string>) => void)[] = [];
  /** Rows that a process with a faster clock wrote, each with its correction for this process's clock. */
  readonly #corrected = new Map<string, { readonly stored: AccountStateRow; readonly row: AccountStateRow }>();
  /** Running writes under leases, by account. */
  readonly #guarded = new Map<string, Promise<boolean>>();

  /** @param shared whether other nodes use the accounts; if so, health is written without delay */
  constructor(store: Store['accounts'], now: () => number, { shared = false }: { readonly shared?: boolean } = {}) {
    this.#store = store;
    this.#now = now;
    this.#shared = shared;
  }

  /** Loads the rows. If the store cannot be read, the process starts with empty state. */
  async load(): Promise<void> {
    for (const row of await this.#store.load().catch(() => [])) this.#of(row.account).set(row.model, this.#here(row));
  }

  /**
   * Reads rows that another process wrote, and passes their accounts to the listeners.
   * @param keys account and model of each, as the change feed reports them
   * @returns the ids of all accounts with changed health
   * @throws StoreError; then the rows have to be refreshed again
   */
  async refresh(keys: readonly (readonly [account: string, model: string])[]): Promise<ReadonlySet<string>> {
    const changed = new Set<string>();
    const found = new Set<string>();
    let left = keys.map(([account, model]) => ({ account, model }));
    for (let tries = 0; left.length > 0 && tries < REFRESH_TRIES; tries++) {
      const before = left.map(({ account, model }) => this.#rows.get(account)?.get(model));
      const stored = await this.#store.find(left);
      // A patch of this process has replaced the row in memory. The row that was read before that is read again.
      const overtaken = left.filter(({ account, model }, i) => this.#rows.get(account)?.get(model) !== before[i]);
      for (const read of stored) {
        const row = this.#here(read);
        if (overtaken.some(({ account, model }) => account === row.account && model === row.model)) continue;
        const former = this.#rows.get(row.account)?.get(row.model) ?? HEALTHY;
        if (HEALTH_FIELDS.some((name) => row[name] !== former[name])) changed.add(row.account);
        this.#of(row.account).set(row.model, row);
        found.add(row.account);
      }
      left = overtaken;
    }
    if (found.size > 0) for (const listen of this.#listeners) listen(found);
    return changed;
  }

  /** Registers a listener, which gets the ids of accounts whose state was read again from the store. */
  onRefresh(listen: (accounts: ReadonlySet<string>) => void): void {
    this.#listeners.push(listen);
  }

  accounts(): readonly string[] {
    return [...this.#rows.keys()];
  }

  rows(account: string): readonly AccountStateRow[] {
    return [...(this.#rows.get(account)?.values() ?? [])];
  }

  /**
   * Stores the complete health of an account by model. Models that are not in it are healthy.
   * @param lease the lease under which the health was found: nothing is written if another process has it by then
   */
  putHealth(account: string, fields: ReadonlyMap<string, HealthFields>, lease?: Lease): void {
    const rows = this.#rows.get(account);
    for (const model of rows?.keys() ?? []) if (!fields.has(model)) this.#patch(account, model, HEALTHY, lease);
    for (const [model, own] of fields) this.#patch(account, model, own, lease);
  }

  /** Stores quota windows, in a shape that only quota interprets. */
  putWindows(account: string, windows: object | null, lease?: Lease): void {
    this.#patch(account, '', { windows }, lease);
  }

  /** @param address digest of the address at which the account has no compact path */
  putMissingCompactPath(account: string, address: string): void {
    this.#patch(account, '', { missing_compact_path: address, compact_path_missing_at: this.#now() });
  }

  /** Resolves when writes under leases have ended. Resolves with false if a lease was lost; then the rows are read again. */
  async settled(account: string): Promise<boolean> {
    return (await this.#guarded.get(account)) ?? true;
  }

  /**
   * Resets the rows of an account that was removed from the configuration, because another account may get its name later. Other nodes may
   * still have the account.
   */
  drop(account: string): void {
    if (this.#shared) return;
    for (const { model } of this.rows(account)) this.#patch(account, model, { ...HEALTHY, ...NO_EVIDENCE });
    this.#rows.delete(account);
  }

  /**
   * A stored row corrected for the clock of this process. If its time is in the future, because a clock was set back or is ahead, its
   * cooldown ends earlier by that difference. A row that is read a second time keeps its end.
   */
  #here(row: AccountStateRow): AccountStateRow {
    const name = `${row.account}\n${row.model}`;
    const ahead = row.updated_at - this.#now();
    const known = this.#corrected.get(name);
    if (known?.stored.updated_at === row.updated_at && known.stored.cooldown_until === row.cooldown_until) {
      return { ...row, updated_at: known.row.updated_at, cooldown_until: known.row.cooldown_until };
    }
    this.#corrected.delete(name);
    if (ahead < SKEW_MS) return row;
    const { cooldown_until } = row;
    const here = { ...row, updated_at: row.updated_at - ahead, cooldown_until: cooldown_until && cooldown_until - ahead };
    this.#corrected.set(name, { stored: row, row: here });
    return here;
  }

  #of(account: string): Map<string, AccountStateRow> {
    const rows = this.#rows.get(account) ?? new Map<string, AccountStateRow>();
    this.#rows.set(account, rows);
    return rows;
  }

  #patch(account: string, model: string, fields: HealthFields | Partial<AccountStateRow>, lease?: Lease): void {
    const before = this.#rows.get(account)?.get(model) ?? { ...HEALTHY, ...NO_EVIDENCE, health_at: 0 };
    const own = wholeMilliseconds(fields);
    if ((Object.keys(own) as (keyof HealthFields)[]).every((name) => own[name] === before[name])) return;
    const patch: AccountStatePatch = { account, model, ...own, updated_at: this.#now() };
    this.#of(account).set(model, { ...before, ...patch });
    if (lease) this.#writeUnder(lease, patch);
    else if (this.#shared && patch.health !== undefined) this.#store.patchNow(patch);
    else this.#store.patch(patch);
  }

  #writeUnder(lease: Lease, patch: AccountStatePatch): void {
    const { account, model } = patch;
    const written = this.#store.patchUnder(lease, patch).then(
      async (isHeld) => {
        // The next owner of the lease has written the row since.
        if (!isHeld) await this.refresh([[account, model]]).catch(() => undefined);
        return isHeld;
      },
      () => false,
    );
    const both = Promise.all([this.#guarded.get(account), written]).then(([earlier = true, own]) => earlier && own);
    this.#guarded.set(account, both);
    void both.then(() => this.#guarded.get(account) === both && this.#guarded.delete(account));
  }
}

/** Rounds times, because a provider may state its reset in fractions of a second. */
const wholeMilliseconds = (fields: Partial<AccountStateRow>): Partial<AccountStateRow> =>
  fields.cooldown_until ? { ...fields, cooldown_until: Math.ceil(fields.cooldown_until) } : fields;
