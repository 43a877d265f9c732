// When the store gets the quota of an account: changes of percentages together, a change of eligibility at once (Q8, Q34).
import type { Lease } from '../../../store/store.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { AccountQuota, StoredQuota } from './account-quota.ts';
import { isSameQuota } from './quota-status.ts';

/** Evidence of an account, and the copy of it in the store. */
export interface CopiedQuota {
  readonly quota: AccountQuota;
  /** The evidence in the store, as far as this node knows. */
  saved: StoredQuota | undefined;
  savedAt: number;
}

export interface QuotaWritesOptions {
  readonly clock: Clock;
  /** @param lease of the usage read that returned it */
  readonly save: (account: string, stored: object, lease?: Lease) => void;
  /** Whether other nodes have the same evidence of the account as the store. */
  readonly shared?: boolean;
}

/** Percentages change with every turn and are written together after this time. */
const SAVE_MS = 10_000;

/**
 * Other nodes read the usage of an account when the store's evidence is a few minutes old, so unchanged evidence is stored again earlier.
 */
const STORE_AGAIN_MS = 120_000;

export class QuotaWrites {
  readonly #options: QuotaWritesOptions;
  readonly #find: (account: string) => CopiedQuota | undefined;
  readonly #unsaved = new Set<string>();
  #cancelSave: (() => void) | undefined;

  /** @param find the evidence of an account that is configured now */
  constructor(options: QuotaWritesOptions, find: (account: string) => CopiedQuota | undefined) {
    this.#options = options;
    this.#find = find;
  }

  /** Notes that the store has this evidence, which another node wrote. */
  copied(id: string, copy: CopiedQuota, stored: StoredQuota): void {
    copy.saved = stored;
    copy.savedAt = Math.max(copy.savedAt, ...stored.windows.map(({ at }) => at));
    this.#unsaved.delete(id);
  }

  /** Whether the evidence is stored again although nothing has changed. */
  isDue({ savedAt }: CopiedQuota, now: number): boolean {
    return this.#options.shared === true && now - savedAt >= STORE_AGAIN_MS;
  }

  /** Writes evidence that differs from the store's, or is due. */
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

  /** Writes evidence at once, also if the store has the same. */
  store(id: string, copy: CopiedQuota, lease?: Lease): void {
    const { clock, save } = this.#options;
    copy.saved = copy.quota.toStored();
    copy.savedAt = clock.now();
    this.#unsaved.delete(id);
    save(id, copy.saved, lease);
  }

  /** Writes what is not saved yet. Sets no timer after this. */
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
