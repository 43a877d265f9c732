// What is known of one account's models: the last good entries, how old they are, and why they could not be read again.
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../turn/json.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { CatalogEntry, ParsedCatalog } from './catalog-parser.ts';
import { exposedEntries } from './model-names.ts';

/** `timeout`: no answer in time. `network`: the read threw. `status`: an answer outside 2xx. `malformed`: no list of models in it. */
export type ReadFailure = 'timeout' | 'network' | 'status' | 'malformed';

export interface AccountCatalogStatus {
  readonly account: string;
  /** Exposed models. */
  readonly models: number;
  /** The entries are from before: the last read failed, none was made since the start, or the account is invisible. */
  readonly stale: boolean;
  /** Why the last read failed; undefined after a good one. */
  readonly failure: ReadFailure | undefined;
  /** The status that went with it, where there was an answer. */
  readonly failureStatus: number | undefined;
  /** Unix milliseconds of the read that the entries are from. */
  readonly readAt: number | undefined;
  /** Of the last good answer: bad entries, and repeated ids. */
  readonly leftOut: number;
  readonly duplicates: number;
  /** Since the start. */
  readonly reads: number;
  readonly failures: number;
}

const NOTHING: ParsedCatalog = { entries: [], leftOut: 0, duplicates: 0 };

export class AccountCatalog {
  #config: AccountConfig;
  /** Under the provider's own names: exposed ids are a matter of configuration, and that changes under stored entries. */
  #parsed = NOTHING;
  #models: ReadonlyMap<string, CatalogEntry> = new Map();
  #fresh = false;
  #failure: ReadFailure | undefined;
  #failureStatus: number | undefined;
  #etag: string | undefined;
  #readAt: number | undefined;
  #reads = 0;
  #failures = 0;

  constructor(config: AccountConfig) {
    this.#config = config;
  }

  get id(): string {
    return this.#config.id;
  }

  get visible(): boolean {
    return this.#config.visible;
  }

  /** By exposed id, in the provider's order. */
  get models(): ReadonlyMap<string, CatalogEntry> {
    return this.#models;
  }

  /** Takes the account's row of a new configuration; true where its models or its visibility changed by that. */
  configure(config: AccountConfig): boolean {
    const { visible, models } = this.#config;
    this.#config = config;
    const renamed = !isDeepStrictEqual(models, config.models);
    if (renamed) this.#expose();
    return renamed || visible !== config.visible;
  }

  /** Entries from before a restart: stale until the account is read, and of no use after that. */
  restore(parsed: ParsedCatalog, etag: string | undefined, at: number): void {
    if (this.#fresh) return;
    this.#parsed = parsed;
    this.#etag = etag;
    this.#readAt = at;
    this.#expose();
  }

  /** A good answer; true where it says anything else than the last one. */
  accept(parsed: ParsedCatalog, etag: string | undefined, at: number): boolean {
    const unchanged = this.#readAt !== undefined && sameEntries(parsed, this.#parsed) && etag === this.#etag;
    this.#reads += 1;
    this.#fresh = true;
    this.#failure = undefined;
    this.#failureStatus = undefined;
    this.#readAt = at;
    if (unchanged) {
      // The old entries stay, so that whoever remembers them by identity need not look again.
      this.#parsed = { ...parsed, entries: this.#parsed.entries };
      return false;
    }
    this.#parsed = parsed;
    this.#etag = etag;
    this.#expose();
    return true;
  }

  /** The last good entries stay, as stale. */
  fail(failure: ReadFailure, status: number | undefined): void {
    this.#reads += 1;
    this.#failures += 1;
    this.#fresh = false;
    this.#failure = failure;
    this.#failureStatus = status;
  }

  /** The last good entries as the provider named them. */
  pristine(): readonly JsonObject[] {
    return this.#parsed.entries.map(({ entry }) => entry);
  }

  status(): AccountCatalogStatus {
    return {
      account: this.id,
      models: this.#models.size,
      stale: !this.#fresh || !this.visible,
      failure: this.#failure,
      failureStatus: this.#failureStatus,
      readAt: this.#readAt,
      leftOut: this.#parsed.leftOut,
      duplicates: this.#parsed.duplicates,
      reads: this.#reads,
      failures: this.#failures,
    };
  }

  #expose(): void {
    this.#models = exposedEntries(this.#parsed.entries, this.#config.models);
  }
}

const sameEntries = (a: ParsedCatalog, b: ParsedCatalog): boolean =>
  a.entries.length === b.entries.length && a.entries.every(({ entry }, index) => isDeepStrictEqual(entry, b.entries[index]?.entry));
