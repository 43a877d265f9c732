// The quota of all accounts, in memory. Replies and usage reads update it, and the store has a copy (Q8, UA2).
import type { Lease } from '../../../store/store.ts';
import type { QuotaStatement, RateLimit } from '../../turn/provider/quota-statement.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { AccountRecord, AccountRecords } from '../account-record.ts';
import type { AccountQuota, QuotaState } from './account-quota.ts';
import { AccountRates } from './account-rates.ts';
import { FRESH_MS, type KnownWindow } from './quota-evidence.ts';
import { type QuotaStatus, quotaStatus, storedQuotaIn } from './quota-status.ts';
import { CopiedQuota, QuotaWrites, type QuotaWritesOptions } from './quota-writes.ts';

export interface QuotaOptions extends QuotaWritesOptions {
  readonly records: AccountRecords;
  /** The store's evidence of an account, or null. */
  readonly load: (account: string) => object | null;
  /** Reads the usage of accounts with stale evidence; undefined if none of them is read. */
  readonly recheck?: (accounts: readonly string[]) => Promise<void> | undefined;
}

/** The largest expected difference between the clocks of two nodes. */
const SKEW_MS = 60_000;

/** Milliseconds since a time; infinite if that time is in the future, because the clock was set back. */
export const elapsed = (since: number, now: number): number =>
  since > now + SKEW_MS ? Number.POSITIVE_INFINITY : Math.max(0, now - since);

export class Quota {
  readonly #options: QuotaOptions;
  /** The records of all configured accounts, which have their evidence. */
  #configured: readonly AccountRecord[] = [];
  readonly #changeListeners = new Set<(account: AccountRecord) => void>();
  readonly #recoveryListeners = new Set<(account: string) => void>();
  readonly #writes: QuotaWrites;

  constructor(options: QuotaOptions) {
    this.#options = options;
    this.#writes = new QuotaWrites(options);
  }

  /** Applies the accounts of a configuration. Known accounts keep their evidence, new ones start with the store's. */
  configure(accounts: readonly AccountConfig[]): void {
    const { clock, load, records } = this.#options;
    const next = new Map<AccountRecord, CopiedQuota>();
    for (const { id, base_url: address, reserve_percent, models } of accounts) {
      const record = records.of(id);
      const old = record.evidence;
      const known = old?.address === address ? old : new CopiedQuota(id, address);
      known.names = models;
      known.rates?.configure(models);
      const stored = old ? undefined : storedQuotaIn(load(id), clock.now());
      if (stored) known.adopt(stored);
      known.configure(reserve_percent);
      next.set(record, known);
    }
    for (const record of this.#configured) record.evidence = undefined;
    for (const [record, known] of next) record.evidence = known;
    this.#writes.retain(new Set(next.values()));
    this.#configured = [...next.keys()];
    for (const record of this.#configured) this.#notify(record);
  }

  /** Undefined for an account that is not configured. */
  stateAt(account: string, at: number): QuotaState | undefined {
    return this.#find(account)?.stateAt(at);
  }

  recheck(accounts: readonly string[]): Promise<void> | undefined {
    const recovered = accounts.filter((account) => this.#endContradictedExhaustion(account));
    return this.#options.recheck?.(accounts) ?? (recovered.length > 0 ? Promise.resolve() : undefined);
  }

  /** Calls `listen` with the account after each change of its state; returns the undo. */
  onChange(listen: (account: AccountRecord) => void): () => void {
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
    const { load, clock, records } = this.#options;
    const record = records.find(id);
    const known = record?.evidence;
    const now = clock.now();
    const stored = known && storedQuotaIn(load(id), now);
    if (!stored) return;
    const { exhaustion } = known;
    const before = known.stateAt(now);
    known.adopt(stored);
    this.#writes.copied(known, stored);
    // Percentages are not written at once here. If both nodes had new evidence, they would write in reply to each other without end.
    const { spent, recovered } = known.toStored();
    if (spent?.at !== stored.spent?.at || recovered !== stored.recovered) this.#writes.write(known);
    else if (!this.#writes.isStored(known)) this.#writes.later(known);
    if (exhaustion && !known.exhaustion) this.#notifyRecovery(id, known, now);
    if (!isSameState(before, known.stateAt(now))) this.#notify(record);
  }

  /** Stores the evidence of a usage read that other nodes wait for. */
  publish(id: string, lease: Lease): void {
    const known = this.#find(id);
    if (known) this.#writes.store(known, lease);
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
    const record = this.#options.records.find(account);
    const known = record?.evidence;
    if (!known) return;
    if (!known.rates) {
      known.rates = new AccountRates(() => this.#options.clock.now());
      known.rates.configure(known.names);
    }
    known.rates.record(model, limits);
    this.#notify(record);
  }

  rates(account: string): AccountRates | undefined {
    return this.#find(account)?.rates;
  }

  /** The valid windows. */
  windows(account: string): readonly KnownWindow[] {
    return this.#find(account)?.currentWindows(this.#options.clock.now()) ?? [];
  }

  /** The age of the newest evidence in milliseconds; infinite if there is none. */
  age(account: string): number {
    const updatedAt = this.#find(account)?.updatedAt;
    return updatedAt === undefined ? Number.POSITIVE_INFINITY : elapsed(updatedAt, this.#options.clock.now());
  }

  isStale(account: string): boolean {
    return this.age(account) >= FRESH_MS;
  }

  /** All configured accounts, for /api/status. */
  status(): readonly QuotaStatus[] {
    const now = this.#options.clock.now();
    return this.#configured.flatMap(({ id, evidence }) => (evidence ? quotaStatus(id, evidence, now) : []));
  }

  /** Writes unsaved evidence, and stops the timer for good. */
  stop(): void {
    this.#writes.flush();
  }

  #find(account: string): CopiedQuota | undefined {
    return this.#options.records.find(account)?.evidence;
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
    const record = this.#options.records.find(account);
    const known = record?.evidence;
    if (!known) return;
    const now = this.#options.clock.now();
    const before = known.stateAt(now);
    if (!update(known, now) && !(this.#options.shared && this.#writes.isDue(known, now))) return;
    const after = known.stateAt(now);
    if (isEligible(before) !== isEligible(after)) this.#writes.write(known);
    else if (!this.#writes.unsaved.has(known)) this.#writes.later(known);
    if (!isSameState(before, after)) this.#notify(record);
  }

  #notify(account: AccountRecord): void {
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
