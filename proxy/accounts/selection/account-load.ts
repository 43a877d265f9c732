// The running side of accounts as selection counts them: what is in flight, what is left of their quota, and what changed lately.
import type { AccountConfig } from '../../turn/settings.ts';
import type { QuotaView } from './quota-view.ts';
import { hashOf } from './rendezvous.ts';

export class AccountLoad {
  readonly id: string;
  readonly hash: number;
  /** `max_concurrent`. */
  capacity: number;
  inFlight = 0;
  /** Of quota, as last looked at. */
  remaining: number | undefined;
  nextReset: number | undefined;
  spent: { readonly until: number | undefined } | undefined;
  reserved: { readonly until: number | undefined } | undefined;

  constructor(id: string, capacity: number) {
    this.id = id;
    this.hash = hashOf(id);
    this.capacity = capacity;
  }

  look(quota: QuotaView, at: number): void {
    this.spent = quota.exhausted(this.id, at);
    this.remaining = quota.remaining(this.id, at);
    this.nextReset = quota.nextReset(this.id, at);
    this.reserved = quota.reserved(this.id, at);
  }
}

/** Enough for all that happens between two looks of a busy roster; one that is further behind looks at everything. */
const REMEMBERED = 512;

/**
 * All seats, and a log of the changed ones. CandidateIndexes read on in it when they are asked, so that a change costs the same however many
 * models and Pools an account serves.
 */
export class AccountLoads {
  #seats = new Map<string, AccountLoad>();
  readonly #changes: AccountLoad[] = [];
  #changed = 0;

  /** How many changes there were so far. */
  get changed(): number {
    return this.#changed;
  }

  configure(accounts: readonly AccountConfig[]): void {
    const next = new Map<string, AccountLoad>();
    for (const { id, max_concurrent } of accounts) {
      const seat = this.#seats.get(id) ?? new AccountLoad(id, max_concurrent);
      seat.capacity = max_concurrent;
      next.set(id, seat);
    }
    this.#seats = next;
  }

  of(id: string): AccountLoad | undefined {
    return this.#seats.get(id);
  }

  change(seat: AccountLoad): void {
    this.#changes[this.#changed % REMEMBERED] = seat;
    this.#changed += 1;
  }

  /** The seat of the change after the first `count` ones; only of those that are remembered. */
  changeAfter(count: number): AccountLoad {
    return this.#changes[count % REMEMBERED] as AccountLoad;
  }

  remembers(count: number): boolean {
    return this.#changed - count <= REMEMBERED;
  }
}
