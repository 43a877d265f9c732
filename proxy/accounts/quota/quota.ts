// The quota of all accounts: its truth is in memory, fed by answers and usage reads; the store has a copy (Q8, UA2).

import type { Clock } from '../../clock.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { QuotaView } from '../selection/quota-view.ts';
import { AccountQuota, FRESH_MS, type Judgement } from './account-quota.ts';
import type { Statement } from './quota-statement.ts';
import { type QuotaStatus, statusOf } from './quota-status.ts';
import { type Kept, keptOf, restored, sameKept } from './stored-quota.ts';

export interface QuotaOptions {
  readonly clock: Clock;
  /** What an earlier process kept of an account, or null. */
  readonly load: (account: string) => object | null;
  readonly save: (account: string, kept: object) => void;
  readonly recheck?: NonNullable<QuotaView['recheck']>;
}

/** Percentages move with every turn: they are written this much later, all at once. What opens or closes an account is not. */
const SAVE_MS = 10_000;

interface Account {
  readonly quota: AccountQuota;
  /** Of what its provider says, another account has nothing to say: a new address is a new account. */
  readonly address: string;
  saved: Kept | undefined;
}

export class Quota implements QuotaView {
  readonly #options: QuotaOptions;
  #accounts: ReadonlyMap<string, Account> = new Map();
  readonly #listeners = new Set<(account: string) => void>();
  readonly #relieved = new Set<(account: string) => void>();
  readonly #unsaved = new Set<string>();
  #cancelSave: (() => void) | undefined;

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** Takes the accounts of a configuration; what is known of those that stay, stays. New ones begin with what the store has of them. */
  configure(accounts: readonly AccountConfig[]): void {
    const { clock, load } = this.#options;
    const next = new Map<string, Account>();
    for (const { id, base_url: address, reserve_percent } of accounts) {
      const old = this.#accounts.get(id);
      const known = old?.address === address ? old : { address, quota: new AccountQuota(), saved: undefined };
      if (!old) restored(known.quota, load(id), clock.now());
      known.quota.configure(reserve_percent);
      next.set(id, known);
    }
    this.#accounts = next;
    for (const id of next.keys()) this.#tell(id);
  }

  exhausted(account: string, at: number): Judgement['exhausted'] {
    return this.#judge(account, at)?.exhausted;
  }

  reserved(account: string, at: number): Judgement['reserved'] {
    return this.#judge(account, at)?.reserved;
  }

  remaining(account: string, at: number): number | undefined {
    return this.#judge(account, at)?.remaining;
  }

  nextReset(account: string, at: number): number | undefined {
    return this.#judge(account, at)?.nextReset;
  }

  recheck(accounts: readonly string[]): Promise<void> | undefined {
    const conceded = accounts.filter((account) => this.#concede(account));
    return this.#options.recheck?.(accounts) ?? (conceded.length > 0 ? Promise.resolve() : undefined);
  }

  onChange(listen: (account: string) => void): () => void {
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  }

  /** Tells `listen` of accounts that were out of quota by their own word, and by a newer one are not any more. */
  onRelief(listen: (account: string) => void): () => void {
    this.#relieved.add(listen);
    return () => void this.#relieved.delete(listen);
  }

  /** What an answer, an event or a usage read of the account said. */
  hear(account: string, statement: Statement): void {
    this.#change(account, (quota, now) => {
      const { spent } = quota;
      const news = quota.hear(statement, now);
      if (spent && !quota.spent) this.#relieve(account, quota, now);
      return news;
    });
  }

  /** The account refused a turn for want of quota. @param resetsAt Unix seconds */
  refuse(account: string, resetsAt: number | undefined): void {
    this.#change(account, (quota, now) => {
      quota.refuse(resetsAt, now);
      return true;
    });
  }

  /** The windows that say something now. */
  windows(account: string): ReturnType<AccountQuota['current']> {
    return this.#accounts.get(account)?.quota.current(this.#options.clock.now()) ?? [];
  }

  /** How old the newest evidence is, in milliseconds; infinite where there is none. */
  age(account: string): number {
    const heardAt = this.#accounts.get(account)?.quota.heardAt;
    return heardAt === undefined ? Number.POSITIVE_INFINITY : this.#options.clock.now() - heardAt;
  }

  /** Whether what is known of it is too old to go by. */
  isStale(account: string): boolean {
    return this.age(account) >= FRESH_MS;
  }

  /** Every configured account, for operators. */
  status(): readonly QuotaStatus[] {
    const now = this.#options.clock.now();
    return [...this.#accounts].map(([id, { quota }]) => statusOf(id, quota, now));
  }

  /** Hands what is not saved yet to the store; no timer from here on. */
  stop(): void {
    this.#saveAll();
  }

  #concede(account: string): boolean {
    let conceded = false;
    this.#change(account, (quota, now) => {
      conceded = quota.concede(now);
      if (conceded) this.#relieve(account, quota, now);
      return conceded;
    });
    return conceded;
  }

  #relieve(account: string, quota: AccountQuota, now: number): void {
    if (!quota.judge(now).exhausted) for (const listen of this.#relieved) listen(account);
  }

  #judge(account: string, at: number): Judgement | undefined {
    return this.#accounts.get(account)?.quota.judge(at);
  }

  /** @param change says whether anything else is known now */
  #change(account: string, change: (quota: AccountQuota, now: number) => boolean): void {
    const known = this.#accounts.get(account);
    if (!known) return;
    const now = this.#options.clock.now();
    const before = known.quota.judge(now);
    if (!change(known.quota, now)) return;
    const after = known.quota.judge(now);
    this.#save(account, known, { atOnce: isOpen(before) !== isOpen(after) });
    if (!sameJudgement(before, after)) this.#tell(account);
  }

  #tell(account: string): void {
    for (const listen of this.#listeners) listen(account);
  }

  #save(id: string, known: Account, { atOnce }: { readonly atOnce: boolean }): void {
    const kept = keptOf(known.quota);
    if (known.saved && sameKept(known.saved, kept)) return;
    if (atOnce) {
      known.saved = kept;
      this.#unsaved.delete(id);
      this.#options.save(id, kept);
      return;
    }
    this.#unsaved.add(id);
    this.#cancelSave ??= this.#options.clock.after(SAVE_MS, () => this.#saveAll());
  }

  #saveAll(): void {
    this.#cancelSave?.();
    this.#cancelSave = undefined;
    for (const id of this.#unsaved) {
      const known = this.#accounts.get(id);
      if (!known) continue;
      known.saved = keptOf(known.quota);
      this.#options.save(id, known.saved);
    }
    this.#unsaved.clear();
  }
}

const isOpen = ({ exhausted, reserved }: Judgement): boolean => !exhausted && !reserved;

const sameJudgement = (a: Judgement, b: Judgement): boolean =>
  a === b ||
  (isOpen(a) === isOpen(b) &&
    a.exhausted?.until === b.exhausted?.until &&
    a.reserved?.until === b.reserved?.until &&
    a.remaining === b.remaining &&
    a.nextReset === b.nextReset);
