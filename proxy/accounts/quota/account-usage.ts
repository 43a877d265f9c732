// The accounts' quota, wired: what is known, who is asked for more, and where it is kept (Q8).

import type { Clock } from '../../clock.ts';
import type { Counters } from '../../metrics.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { CallAnswer, CallBounds } from '../../upstream/call.ts';
import type { AccountStates } from '../health/account-states.ts';
import { Quota } from './quota.ts';
import { QuotaWitness } from './quota-observer.ts';
import { UsageReads } from './usage-reads.ts';

export interface AccountUsageOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  /** Asked late: they are loaded when the gateway starts. */
  readonly states: () => Pick<AccountStates, 'rows' | 'putWindows'>;
  /** A call of our own to an account. */
  readonly get: (account: string, path: string, bounds: CallBounds) => Promise<CallAnswer>;
}

const BOUNDS: CallBounds = { bytes: 262_144, ms: 10_000 };

export class AccountUsage {
  readonly quota: Quota;
  readonly reads: UsageReads;
  readonly witness: QuotaWitness;
  readonly #asked = Promise.withResolvers<void>();
  #ready = false;

  constructor({ clock, counters, states, get }: AccountUsageOptions) {
    this.quota = new Quota({
      clock,
      load: (account) =>
        states()
          .rows(account)
          .find(({ model }) => model === '')?.windows ?? null,
      save: (account, kept) => states().putWindows(account, kept),
      recheck: (accounts) => this.reads.recheck(accounts),
    });
    this.reads = new UsageReads({
      clock,
      counters,
      quota: this.quota,
      read: (account) => get(account, '/backend-api/meter/usage', BOUNDS),
    });
    this.witness = new QuotaWitness(this.quota);
  }

  /** The first round of reads is over, or has taken two seconds; from then on it stays true. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Resolves when `ready` turns true. */
  get whenReady(): Promise<void> {
    return this.#asked.promise;
  }

  /** Takes the accounts of a configuration; asks those of which nothing young is known. */
  configure(accounts: readonly AccountConfig[]): void {
    this.quota.configure(accounts);
    this.reads.configure(accounts);
    if (!this.#ready) void this.reads.known(accounts.map(({ id }) => id)).then(() => this.#becomeReady());
  }

  stop(): void {
    this.reads.stop();
    this.quota.stop();
  }

  #becomeReady(): void {
    this.#ready = true;
    this.#asked.resolve();
  }
}
