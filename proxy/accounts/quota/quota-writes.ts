// Decides when the quota of an account is stored: changes of percentages are gathered, a change of eligibility is stored at once (Q8, Q34).
import type { Lease } from '../../../store/store.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { AccountQuota, StoredQuota } from './account-quota.ts';
import { isSameQuota } from './quota-status.ts';

/** The evidence of an account, and its copy in the store. */
export interface CopiedQuota {
  readonly quota: AccountQuota;
  /** The evidence in the store, as far as this node knows. */
  saved: StoredQuota | undefined;
  savedAt: number;
}

export interface QuotaWritesOptions {
  readonly clock: Clock;
  /** @param lease of the usage read that returned the evidence */
  readonly save: (account: string, stored: object, lease?: Lease) => void;
  /** Whether several nodes keep the store's evidence of an account in memory. */
  readonly shared?: boolean;
}

/** Percentages change with every turn, and are written together after this time. */
const SAVE_MS = 10_000;

/**
 * Unchanged evidence is stored again after this time. Other nodes read the usage of an account when the store's evidence is a few minutes
 * old, and this is earlier.
 */
const STORE_AGAIN_MS = 120_000;

export class QuotaWrites {
  readonly #options: QuotaWritesOptions;
  readonly #find: (account: string) => CopiedQuota | undefined;
  readonly #unsaved = new Set<string>();
  #cancelSave: (() => void) | undefined;

  /** @param find returns the evidence of a configured account */
  constructor(options: QuotaWritesOptions, find: (account: string) => CopiedQuota | undefined) {
    this.#options = options;
    this.#find = find;
  }

  /** Records that the store has this evidence, which another node wrote. */
  copied(id: string, copy: CopiedQuota, stored: StoredQuota): void {
    copy.saved = stored;
    copy.savedAt = Math.max(copy.savedAt, ...stored.windows.map(({ at }) => at));
    this.#unsaved.delete(id);
  }

  /** Whether unchanged evidence has to be stored again. */
  isDue({ savedAt }: CopiedQuota, now: number): boolean {
    return this.#options.shared === true && now - savedAt >= STORE_AGAIN_MS;
  }

  /** Writes evidence that differs from the store's, or that is due. */
  write(id: string, copy: CopiedQuota, { atOnce }: { readonly atOnce: boolean }): void {
    const { clock } = this.#options;
    const isKnown = copy.saved !== undefined && isSameQuota(copy.saved, copy.quota.toStored());
    if (isKnown && !this.isDue(copy, clock.now())) return;
    if (atOnce) {
      this.store(id, copy);
      return;
    }
    this.#unsaved.add(id);
    this.#cancelSave ??= clock.after(SAVE_MS, () => this.flush());
  }

  /** Writes evidence at once, even if the store already has it. */
  store(id: string, copy: CopiedQuota, lease?: Lease): void {
    const { clock, save } = this.#options;
    copy.saved = copy.quota.toStored();
    copy.savedAt = clock.now();
    this.#unsaved.delete(id);
    save(id, copy.saved, lease);
  }

  /** Writes unsaved evidence, and stops the timer for good. */
  flush(): void {
    this.#cancelSave?.();
    this.#cancelSave = undefined;
    for (const id of [...this.#unsaved]) {
      const copy = this.#find(id);
      if (copy) this.store(id, copy);
    }
    this.#unsaved.clear();
  }
}
