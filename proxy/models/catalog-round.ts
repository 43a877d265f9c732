// One round of catalog reads: every visible account once, a few at a time, none for longer than its deadline.

import type { Clock } from '../clock.ts';
import type { AccountCatalog, ReadFailure } from './account-catalog.ts';
import { type ParsedCatalog, parseCatalog } from './catalog-parser.ts';

/** An account's answer to `GET …/models`. */
export interface CatalogAnswer {
  readonly status: number;
  /** The decoded JSON body; anything at all where it was none. */
  readonly body: unknown;
  readonly etag?: string;
}

/** Rejects where no answer came. Bounds the answer's size itself. */
export type ReadCatalog = (account: string) => Promise<CatalogAnswer>;

export type ReadResult =
  | { readonly parsed: ParsedCatalog; readonly etag: string | undefined }
  | { readonly failure: ReadFailure; readonly status: number | undefined };

const AT_ONCE = 32;
const READ_MS = 30_000;

export class Round {
  readonly done: Promise<void>;
  readonly #read: ReadCatalog;
  readonly #clock: Clock;
  readonly #heard: (account: AccountCatalog, result: ReadResult) => void;
  #abandoned = false;

  /** @param heard called once for each account, in the order of their answers; never after `abandon` */
  constructor(
    accounts: readonly AccountCatalog[],
    read: ReadCatalog,
    clock: Clock,
    heard: (account: AccountCatalog, result: ReadResult) => void,
  ) {
    this.#read = read;
    this.#clock = clock;
    this.#heard = heard;
    const queue = accounts.values();
    // Settled, not all: a listener that throws must not leave the others' reads unheard.
    this.done = Promise.allSettled(Array.from({ length: Math.min(AT_ONCE, accounts.length) }, () => this.#work(queue))).then(
      () => undefined,
    );
  }

  /** A newer round takes over: what is still to come may be from a base URL or a credential that is no longer configured. */
  abandon(): void {
    this.#abandoned = true;
  }

  async #work(queue: Iterable<AccountCatalog>): Promise<void> {
    for (const account of queue) {
      if (this.#abandoned) return;
      const result = await this.#ask(account.id);
      if (!this.#abandoned) this.#heard(account, result);
    }
  }

  #ask(account: string): Promise<ReadResult> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(READ_MS, () => resolve({ failure: 'timeout', status: undefined }));
      resultOf(account, this.#read).then((result) => {
        cancel();
        resolve(result);
      });
    });
  }
}

async function resultOf(account: string, read: ReadCatalog): Promise<ReadResult> {
  try {
    const { status, body, etag } = await read(account);
    if (status < 200 || status > 299) return { failure: 'status', status };
    const parsed = parseCatalog(body);
    return parsed ? { parsed, etag } : { failure: 'malformed', status };
  } catch {
    return { failure: 'network', status: undefined };
  }
}
