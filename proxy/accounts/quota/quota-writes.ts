// Decides when the quota of an account is stored: changes of percentages are gathered, a change of eligibility is stored at once (Q8, Q34).
import type { Lease } from '../../../store/store.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { AccountQuota } from './account-quota.ts';
import type { AccountRates } from './account-rates.ts';
import type { StoredQuota } from './quota-evidence.ts';
import { isSameQuota } from './quota-status.ts';

/** The evidence of an account, and its copy in the store. */
export class CopiedQuota extends AccountQuota {
  /** The id of the account. */
  readonly id: string;
  /** The account's `base_url`. If it changes, the account begins without evidence. */
  readonly address: string;
  /** The evidence in the store, as far as this node knows. */
  saved: StoredQuota | undefined;
  savedAt = 0;
  /** The rate limits of an API account that has stated some. */
  rates: AccountRates | undefined;
  /** The names of its models. */
  names: AccountConfig['models'] = {};

  constructor(id: string, address: string) {
    super();
    this.id = id;
    this.address = address;
  }
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
  /** Evidence that has changed since it was stored. */
  readonly unsaved = new Set<CopiedQuota>();
  readonly #options: QuotaWritesOptions;
  #cancelSave: (() => void) | undefined;

  constructor(options: QuotaWritesOptions) {
    this.#options = options;
  }

  /** Records that the store has this evidence, which another node wrote. */
  copied(copy: CopiedQuota, stored: StoredQuota): void {
    copy.saved = stored;
    copy.savedAt = Math.max(copy.savedAt, ...stored.windows.map(({ at }) => at));
    this.unsaved.delete(copy);
  }

  /** Whether unchanged evidence has to be stored again. */
  isDue({ savedAt }: CopiedQuota, now: number): boolean {
    return this.#options.shared === true && now - savedAt >= STORE_AGAIN_MS;
  }

  /** Writes evidence with the next others, if it differs from the store's by then. */
  later(copy: CopiedQuota): void {
    this.unsaved.add(copy);
    this.#cancelSave ??= this.#options.clock.after(SAVE_MS, () => this.flush());
  }

  /** Whether the store has this evidence, and it is not due. */
  isStored(copy: CopiedQuota): boolean {
    const isKnown = copy.saved !== undefined && isSameQuota(copy.saved, copy.toStored());
    return isKnown && !this.isDue(copy, this.#options.clock.now());
  }

  /** Writes evidence at once if it differs from the store's, or is due. */
  write(copy: CopiedQuota): void {
    if (!this.isStored(copy)) this.store(copy);
  }

  /** Writes evidence at once, even if the store already has it. */
  store(copy: CopiedQuota, lease?: Lease): void {
    const { clock, save } = this.#options;
    copy.saved = copy.toStored();
    copy.savedAt = clock.now();
    this.unsaved.delete(copy);
    save(copy.id, copy.saved, lease);
  }

  /** Forgets evidence of accounts that were removed or have another address. */
  retain(configured: ReadonlySet<CopiedQuota>): void {
    for (const copy of this.unsaved) if (!configured.has(copy)) this.unsaved.delete(copy);
  }

  /** Writes unsaved evidence, and stops the timer for good. */
  flush(): void {
    this.#cancelSave?.();
    this.#cancelSave = undefined;
    for (const copy of this.unsaved) this.write(copy);
    this.unsaved.clear();
  }
}
