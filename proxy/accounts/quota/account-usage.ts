// Composes the quota of the accounts: its state, its usage reads, its reply observer and its rows in the store (Q8).
import type { Counters } from '../../base/process/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { ExclusiveWork } from '../../nodes/exclusive-work.ts';
import type { ProviderOf } from '../../turn/provider/provider-api.ts';
import type { ProviderQuota } from '../../turn/provider/reads.ts';
import type { AccountConfig, WireWords } from '../../turn/settings.ts';
import type { CallAnswer, CallBounds } from '../../upstream/call.ts';
import type { AccountRecords } from '../account-record.ts';
import type { AccountStates } from '../health/account-states.ts';
import { Quota } from './quota.ts';
import { QuotaObserver, type QuotaObserverOptions } from './quota-observer.ts';
import { UsageReads } from './usage-reads.ts';

export interface AccountUsageOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly records: AccountRecords;
  /** A function, because the states are loaded when the gateway starts. */
  readonly states: () => Pick<AccountStates, 'rows' | 'putWindows' | 'refresh' | 'settled'>;
  /** Sends a request of the gateway's own to an account. */
  readonly get: (account: string, path: string, bounds: CallBounds) => Promise<CallAnswer>;
  /** Blocks turns of a scope at an account for a while. */
  readonly pause: QuotaObserverOptions['pause'];
  readonly providerOf: ProviderOf;
  readonly wire: () => WireWords;
  /** Present if there are several nodes. */
  readonly exclusive?: ExclusiveWork | undefined;
}

interface ReadAccount {
  readonly account: AccountConfig;
  readonly usage: NonNullable<ProviderQuota['usage']>;
}

const BOUNDS: CallBounds = { bytes: 262_144, ms: 10_000 };

export class AccountUsage {
  readonly quota: Quota;
  readonly reads: UsageReads;
  readonly observer: QuotaObserver;
  readonly #firstRound = Promise.withResolvers<void>();
  #ready = false;
  readonly #providerOf: ProviderOf;
  /** The accounts whose providers answer usage reads. */
  #read: ReadonlyMap<string, ReadAccount> = new Map();

  constructor({ clock, counters, records, states, get, pause, providerOf, wire, exclusive }: AccountUsageOptions) {
    this.#providerOf = providerOf;
    this.quota = new Quota({
      clock,
      records,
      load: (account) =>
        states()
          .rows(account)
          .find(({ model }) => model === '')?.windows ?? null,
      save: (account, stored, lease) => states().putWindows(account, stored, lease),
      shared: exclusive !== undefined,
      recheck: (accounts) => this.reads.recheck(accounts),
    });
    this.reads = new UsageReads({
      clock,
      counters,
      quota: this.quota,
      read: async (id) => {
        const read = this.#read.get(id);
        if (!read) throw new Error('no account whose usage is read');
        return read.usage.read((path) => get(id, path, BOUNDS), { account: read.account, wire: wire() });
      },
      parse: (id, body, now) => this.#read.get(id)?.usage.parse(body, now),
      sharing: exclusive && {
        exclusive,
        refresh: (account) => states().refresh([[account, '']]),
        stored: (account) => states().settled(account),
      },
    });
    this.observer = new QuotaObserver({ quota: this.quota, pause, readLater: (account) => this.reads.readLater(account) });
  }

  /** Whether the first round of reads is over or has taken two seconds. Stays true afterwards. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Resolves when `ready` becomes true. */
  get whenReady(): Promise<void> {
    return this.#firstRound.promise;
  }

  /** Applies the accounts of a configuration. Accounts without fresh evidence are read at once. */
  configure(accounts: readonly AccountConfig[]): void {
    const read = accounts.flatMap((account): readonly ReadAccount[] => {
      const { usage } = this.#providerOf(account).quota;
      return usage ? [{ account, usage }] : [];
    });
    this.#read = new Map(read.map((one) => [one.account.id, one]));
    this.quota.configure(accounts);
    this.reads.configure(read.map(({ account }) => account));
    if (!this.#ready) void this.reads.firstReads([...this.#read.keys()]).then(() => this.#becomeReady());
  }

  /** Reads one account after a new login. */
  readNow(account: string): Promise<void> {
    return this.reads.readNow(account);
  }

  stop(): void {
    this.reads.stop();
    this.quota.stop();
  }

  #becomeReady(): void {
    this.#ready = true;
    this.#firstRound.resolve();
  }
}
