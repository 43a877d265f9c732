// Catalog reads with several nodes: one of them reads an account, and the others take over what it stored (Q34).
import type { CatalogRow, Lease } from '../../../store/store.ts';
import { LATE } from '../../base/time/clock.ts';
import type { ExclusiveWork, HeldLease } from '../../nodes/exclusive-work.ts';

export interface SharedReadsOptions {
  readonly exclusive: ExclusiveWork;
  readonly find: (account: string) => Promise<CatalogRow | undefined>;
  /** Writes a row under the lease. @returns false if the lease was lost: another node has read the account since */
  readonly putUnder: (lease: Lease, row: CatalogRow) => Promise<boolean>;
}

export interface SharedRead {
  readonly account: string;
  /** Takes over a row if it is new enough. @returns whether the account counts as read */
  readonly adopt: (row: CatalogRow | undefined) => boolean;
  /** Reads the account at this node. @returns the row to store, if the read succeeded */
  readonly read: () => Promise<CatalogRow | undefined>;
}

/** How long to wait for a read of another node. Longer than such a read takes. */
const OTHER_NODE_MS = 35_000;

export class SharedReads {
  readonly #options: SharedReadsOptions;

  constructor(options: SharedReadsOptions) {
    this.#options = options;
  }

  /** The store's row of an account. */
  find(account: string): Promise<CatalogRow | undefined> {
    return this.#options.find(account);
  }

  /** @returns `late` if another node has the account's lease and does not finish its read in time */
  async run({ account, adopt, read }: SharedRead): Promise<'done' | 'late'> {
    const { exclusive, find } = this.#options;
    const found = async (): Promise<'done' | undefined> => (adopt(undefined) || adopt(await find(account)) ? 'done' : undefined);
    const work = async (held: HeldLease | undefined): Promise<'done'> => {
      const row = await read();
      if (row && held && !(await this.#options.putUnder(held.lease, row))) adopt(await find(account));
      return 'done';
    };
    const ended = await exclusive.run({ name: `catalog/${account}`, waitMs: OTHER_NODE_MS, found, work });
    return ended === LATE ? 'late' : 'done';
  }
}
