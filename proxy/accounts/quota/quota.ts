// The quota of all accounts, in memory. Replies and usage reads update it, and the store has a copy (Q8, UA2).
import type { Lease } from '../../../store/store.ts';
import type { QuotaStatement, RateLimit } from '../../turn/provider/quota-statement.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { AccountQuota, FRESH_MS, type KnownWindow, type QuotaState } from './account-quota.ts';
import { AccountRates } from './account-rates.ts';
import { type QuotaStatus, quotaStatus, storedQuotaIn } from './quota-status.ts';
import { type CopiedQuota, QuotaWrites, type QuotaWritesOptions } from './quota-writes.ts';

export interface QuotaOptions extends QuotaWritesOptions {
  /** The store's evidence of an account, or null. */
  readonly load: (account: string) => object | null;
  /** Reads the usage of accounts with stale evidence; undefined if none of them is read. */
  readonly recheck?: (accounts: readonly string[]) => Promise<void> | undefined;
}

interface Account extends CopiedQuota {
  /** The account's `base_url`. If it changes, the account begins without evidence. */
  readonly address: string;
  /** The rate limits of an API account that has stated some. */
  rates?: AccountRates;
  readonly names: AccountConfig['models'];
}

/** The largest expected difference between the clocks of two nodes. */
const SKEW_MS = 60_000;

/** Milliseconds since a time; infinite if that time is in the future, because the clock was set back. */
export const elapsed = (since: number, now: number): number =>
  since > now + SKEW_MS ? Number.POSITIVE_INFINITY : Math.max(0, now - since);

export class Quota {
  readonly #options: QuotaOptions;
  #accounts: ReadonlyMap<string, Account> = new Map();
  readonly #changeListeners = new Set<(account: string) => void>();
  readonly #recoveryListeners = new Set<(account: string) => void>();
  readonly #writes: QuotaWrites;

  constructor(options: QuotaOptions) {
    this.#options = options;
    this.#writes = new QuotaWrites(options, (id) => this.#accounts.get(id));
  }

  /** Applies the accounts of a configuration. Known accounts keep their evidence, new ones start with the store's. */
  configure(accounts: readonly AccountConfig[]): void {
    const { clock, load } = this.#options;
    const next = new Map<string, Account>();
    for (const { id, base_url: address, reserve_percent, models: names } of accounts) {
      const old = this.#accounts.get(id);
      const known = old?.address === address ? old : { address, quota: new AccountQuota(), saved: undefined, savedAt: 0 };
      const account: Account = Object.assign(known, { names });
      account.rates?.configure(names);
      const stored = old ? undefined : storedQuotaIn(load(id), clock.now());
      if (stored) account.quota.adopt(stored);
      account.quota.configure(reserve_percent);
      next.set(id, account);
    }
    this.#accounts = next;
    for (const id of next.keys()) this.#notify(id);
  }

  /** Undefined for an account that is not configured. */
  stateAt(account: string, at: number): QuotaState | undefined {
    return this.#accounts.get(account)?.quota.stateAt(at);
  }

  recheck(accounts: readonly string[]): Promise<void> | undefined {
    const recovered = accounts.filter((account) => this.#endContradictedExhaustion(account));
    return this.#options.recheck?.(accounts) ?? (recovered.length > 0 ? Promise.resolve() : undefined);
  }

  /** Calls `listen` with the account after each change of its state; returns the undo. */
  onChange(listen: (account: string) => void): () => void {
    this.#changeListeners.add(listen);
    return () => void this.#changeListeners.delete(listen);
  }

  /** Calls `listen` with each account whose stated exhaustion a newer statement has ended. @returns the undo */
  onRecovery(listen: (account: string) => void): () => void {
    this.#recoveryListeners.add(listen);
    return () => void this.#recoveryListeners.delete(listen);
  }

  /** Takes over what other nodes stored about this account. If this node has better evidence, it is stored again. */
  refresh(id: string): void {
    const { load, clock } = this.#options;
    const account = this.#accounts.get(id);
    const now = clock.now();
    const stored = account && storedQuotaIn(load(id), now);
    if (!stored) return;
    const { quota } = account;
    const { exhaustion } = quota;
    const before = quota.stateAt(now);
    quota.adopt(stored);
    this.#writes.copied(id, account, stored);
    // Percentages are not written at once here. If both nodes had new evidence, they would write in reply to each other without end.
    const { spent, recovered } = quota.toStored();
    this.#writes.write(id, account, { atOnce: spent?.at !== stored.spent?.at || recovered !== stored.recovered });
    if (exhaustion && !quota.exhaustion) this.#notifyRecovery(id, quota, now);
    if (!isSameState(before, quota.stateAt(now))) this.#notify(id);
  }

  /** Stores the evidence of a usage read that other nodes wait for. */
  publish(id: string, lease: Lease): void {
    const account = this.#accounts.get(id);
    if (account) this.#writes.store(id, account, lease);
  }

  /** Records the statement of a reply, an event or a usage read. */
  record(account: string, statement: QuotaStatement): void {
    this.#update(account, (quota, now) => {
      const { exhaustion } = quota;
      const changed = quota.record(statement, now);
      if (exhaustion && !quota.exhaustion) this.#notifyRecovery(account, quota, now);
      return changed;
    });
  }

  /** Records that the account refused a turn for lack of quota. @param resetsAt Unix seconds */
  recordRefusal(account: string, resetsAt: number | undefined): void {
    this.#update(account, (quota, now) => {
      quota.recordRefusal(resetsAt, now);
      return true;
    });
  }

  /** Records a limit without window and reset, which only a usage read ends. */
  recordLastingLimit(account: string): void {
    this.#update(account, (quota, now) => {
      quota.recordLastingLimit(now);
      return true;
    });
  }

  /** Records the rate limits of a model from an answer. @param model the exposed id */
  recordRates(account: string, model: string, limits: readonly RateLimit[]): void {
    const known = this.#accounts.get(account);
    if (!known) return;
    if (!known.rates) {
      known.rates = new AccountRates(() => this.#options.clock.now());
      known.rates.configure(known.names);
    }
    known.rates.record(model, limits);
    this.#notify(account);
  }

  rates(account: string): AccountRates | undefined {
    return this.#accounts.get(account)?.rates;
  }

  /** The valid windows. */
  windows(account: string): readonly KnownWindow[] {
    return this.#accounts.get(account)?.quota.currentWindows(this.#options.clock.now()) ?? [];
  }

  /** The age of the newest evidence in milliseconds; infinite if there is none. */
  age(account: string): number {
    const updatedAt = this.#accounts.get(account)?.quota.updatedAt;
    return updatedAt === undefined ? Number.POSITIVE_INFINITY : elapsed(updatedAt, this.#options.clock.now());
  }

  isStale(account: string): boolean {
    return this.age(account) >= FRESH_MS;
  }

  /** All configured accounts, for /api/status. */
  status(): readonly QuotaStatus[] {
    const now = this.#options.clock.now();
    return [...this.#accounts].map(([id, { quota }]) => quotaStatus(id, quota, now));
  }

  /** Writes unsaved evidence, and stops the timer for good. */
  stop(): void {
    this.#writes.flush();
  }

  #endContradictedExhaustion(account: string): boolean {
    let ended = false;
    this.#update(account, (quota, now) => {
      ended = quota.endContradictedExhaustion(now);
      if (ended) this.#notifyRecovery(account, quota, now);
      return ended;
    });
    return ended;
  }

  #notifyRecovery(account: string, quota: AccountQuota, now: number): void {
    if (!quota.stateAt(now).exhausted) for (const listen of this.#recoveryListeners) listen(account);
  }

  /** @param update returns whether the evidence changed */
  #update(account: string, update: (quota: AccountQuota, now: number) => boolean): void {
    const known = this.#accounts.get(account);
    if (!known) return;
    const now = this.#options.clock.now();
    const before = known.quota.stateAt(now);
    if (!update(known.quota, now) && !this.#writes.isDue(known, now)) return;
    const after = known.quota.stateAt(now);
    this.#writes.write(account, known, { atOnce: isEligible(before) !== isEligible(after) });
    if (!isSameState(before, after)) this.#notify(account);
  }

  #notify(account: string): void {
    for (const listen of this.#changeListeners) listen(account);
  }
}

const isEligible = ({ exhausted, reserved }: QuotaState): boolean => !exhausted && !reserved;

const isSameState = (a: QuotaState, b: QuotaState): boolean =>
  a === b ||
  (isEligible(a) === isEligible(b) &&
    a.exhausted?.until === b.exhausted?.until &&
    a.reserved?.until === b.reserved?.until &&
    a.remaining === b.remaining &&
    a.nextReset === b.nextReset);
