// One refresh of the catalogs: reads every visible account once, at most 32 at the same time, each with a deadline.
import { type Clock, LATE, withDeadline } from '../../base/time/clock.ts';
import type { CatalogAnswer } from '../../turn/provider/reads.ts';
import type { AccountCatalog, ReadCost, ReadFailure } from './account-catalog.ts';
import { type ParsedCatalog, parseCatalog } from './catalog-parser.ts';

/** Reads a catalog. Rejects if no answer came. It limits the answer's size itself. */
export type ReadCatalog = (account: string) => Promise<CatalogAnswer>;

export type ReadResult =
  | { readonly parsed: ParsedCatalog; readonly etag: string | undefined; readonly cost: ReadCost }
  | { readonly failure: ReadFailure; readonly status: number | undefined };

const CONCURRENT_READS = 32;
const READ_MS = 30_000;

export class CatalogRefresh {
  /** Resolves when every account has been read, or the refresh was cancelled. */
  readonly done: Promise<void>;
  readonly #read: (account: AccountCatalog, refresh: CatalogRefresh) => Promise<void>;
  #cancelled = false;

  /** @param read reads one account; its result is ignored if the refresh is cancelled before it comes */
  constructor(accounts: readonly AccountCatalog[], read: (account: AccountCatalog, refresh: CatalogRefresh) => Promise<void>) {
    this.#read = read;
    const queue = accounts.values();
    const workers = Array.from({ length: Math.min(CONCURRENT_READS, accounts.length) }, () => this.#readAll(queue));
    // Settled, because a listener that throws must not lose the results of the other workers.
    this.done = Promise.allSettled(workers).then(() => undefined);
  }

  get isCancelled(): boolean {
    return this.#cancelled;
  }

  /**
   * Cancels the refresh in favour of a newer one, because later results may be from a base URL or credential that is no longer configured.
   */
  cancel(): void {
    this.#cancelled = true;
  }

  async #readAll(queue: Iterable<AccountCatalog>): Promise<void> {
    for (const account of queue) {
      if (this.#cancelled) return;
      await this.#read(account, this);
    }
  }
}

/** Reads one account's catalog. Never rejects. */
export async function readCatalog(account: string, read: ReadCatalog, clock: Clock): Promise<ReadResult> {
  const result = await withDeadline(resultOf(account, read, clock), clock, READ_MS);
  return result === LATE ? { failure: 'timeout', status: undefined } : result;
}

async function resultOf(account: string, read: ReadCatalog, clock: Clock): Promise<ReadResult> {
  const began = clock.now();
  try {
    const { status, body, etag, bytes, refusal = 'status' } = await read(account);
    if (status < 200 || status > 299) return { failure: refusal, status };
    const parsed = parseCatalog(body);
    return parsed ? { parsed, etag, cost: { bytes, ms: clock.now() - began } } : { failure: 'malformed', status };
  } catch {
    return { failure: 'network', status: undefined };
  }
}
