// The models of one account: its last good entries, their age, and the reason why the last read failed.
import { isDeepStrictEqual } from 'node:util';
import type { ReadRefusal } from '../../turn/errors/read-refusal.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import { isApiAccount } from '../../turn/provider/api-account.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { apiEntries } from './api-entries.ts';
import type { CatalogEntry, ParsedCatalog } from './catalog-parser.ts';
import { exposedEntries } from './model-names.ts';

/**
 * `timeout`: no answer in time. `network`: the read threw. `malformed`: the answer had no list of models. Others: the answer had no 2xx
 * status.
 */
export type ReadFailure = 'timeout' | 'network' | 'malformed' | ReadRefusal;

/** The size and the duration of a good read. */
export interface ReadCost {
  readonly bytes: number;
  readonly ms: number;
}

export interface AccountCatalogStatus {
  readonly account: string;
  /** Number of exposed models. */
  readonly models: number;
  /** Whether the last read failed, no read has ended since the start, or the account is invisible. */
  readonly stale: boolean;
  /** Why the last read failed; undefined after a good one. */
  readonly failure: ReadFailure | undefined;
  /** The status of the last failed answer, if there was one. */
  readonly failureStatus: number | undefined;
  /** When the entries were read, in Unix milliseconds. */
  readonly readAt: number | undefined;
  /** The size of the last good answer that this process read, in bytes. */
  readonly bytes: number | undefined;
  /** How long that read took, in milliseconds. */
  readonly ms: number | undefined;
  /** The number of invalid entries in the last good answer. */
  readonly leftOut: number;
  /** The number of repeated ids in the last good answer. */
  readonly duplicates: number;
  /** The number of reads since the start of the process, and the number of failed ones. */
  readonly reads: number;
  readonly failures: number;
}

/** A read of another node that began this much earlier is taken to have seen the same catalog. */
const SAME_MOMENT_MS = 1_000;

const NO_ENTRIES: ParsedCatalog = { entries: [], leftOut: 0, duplicates: 0 };

export class AccountCatalog {
  #config: AccountConfig;
  /** The parsed entries under the provider's names. Exposed names come from the configuration, which can change without a read. */
  #parsed = NO_ENTRIES;
  #models: ReadonlyMap<string, CatalogEntry> = new Map();
  #fresh = false;
  /** Whether another node made the last good read. */
  #isAdopted = false;
  #failure: ReadFailure | undefined;
  #failureStatus: number | undefined;
  #etag: string | undefined;
  #readAt: number | undefined;
  #cost: ReadCost | undefined;
  #reads = 0;
  #failures = 0;

  constructor(config: AccountConfig) {
    this.#config = config;
    if (isApiAccount(config)) this.#expose();
  }

  get id(): string {
    return this.#config.id;
  }

  get visible(): boolean {
    return this.#config.visible;
  }

  get isAgent(): boolean {
    return this.#config.api === 'agent';
  }

  /** Whether the account's list is read. That of an API account need not be (AA8). */
  get isRead(): boolean {
    return !isApiAccount(this.#config) || this.#config.read_models !== false;
  }

  /** Whether all its models are known: its list has been read, by this process or an earlier one, or it serves only declared models. */
  get isKnown(): boolean {
    return this.#readAt !== undefined || (isApiAccount(this.#config) && this.#config.read_models !== 'all');
  }

  /** Whether the last read failed. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Entries by exposed id, in the provider's order. */
  get models(): ReadonlyMap<string, CatalogEntry> {
    return this.#models;
  }

  /** Applies the account's row of a new configuration. @returns whether its exposed models or its visibility changed */
  configure(config: AccountConfig): boolean {
    const { api, visible } = this.#config;
    const renamed = !isDeepStrictEqual(namingOf(this.#config), namingOf(config));
    this.#config = config;
    if (renamed) this.#expose();
    return renamed || visible !== config.visible || api !== config.api;
  }

  /** Restores entries from before a restart. They are stale until the account is read, and ignored after that. */
  restore(parsed: ParsedCatalog, etag: string | undefined, at: number): void {
    if (this.#fresh) return;
    this.#parsed = parsed;
    this.#etag = etag;
    this.#readAt = at;
    this.#expose();
  }

  /** Takes over what another node read. @returns whether the entries or the ETag changed */
  adopt(parsed: ParsedCatalog, etag: string | undefined, at: number): boolean {
    if (this.#readAt !== undefined && at < this.#readAt) return false;
    this.#isAdopted ||= at !== this.#readAt;
    return this.#take(parsed, etag, at);
  }

  /** Whether the entries were read at or after this time, here or at another node. */
  isReadSince(at: number): boolean {
    const since = this.#isAdopted ? at - SAME_MOMENT_MS : at;
    return this.#fresh && this.#readAt !== undefined && this.#readAt >= since;
  }

  /** Accepts a good answer. @returns whether its entries or its ETag differ from the last answer */
  accept(parsed: ParsedCatalog, etag: string | undefined, at: number, cost: ReadCost): boolean {
    this.#cost = cost;
    this.#reads += 1;
    this.#isAdopted = false;
    return this.#take(parsed, etag, at);
  }

  /** Records a failed read. The last good entries stay, and become stale. */
  fail(failure: ReadFailure, status: number | undefined): void {
    this.#reads += 1;
    this.#failures += 1;
    this.#fresh = false;
    this.#failure = failure;
    this.#failureStatus = status;
  }

  /** The last good entries under the provider's names. */
  pristine(): readonly JsonObject[] {
    return this.#parsed.entries.map(({ fields }) => fields);
  }

  status(): AccountCatalogStatus {
    return {
      account: this.id,
      models: this.#models.size,
      stale: (!this.#fresh && this.isRead) || !this.visible,
      failure: this.#failure,
      failureStatus: this.#failureStatus,
      readAt: this.#readAt,
      bytes: this.#cost?.bytes,
      ms: this.#cost?.ms,
      leftOut: this.#parsed.leftOut,
      duplicates: this.#parsed.duplicates,
      reads: this.#reads,
      failures: this.#failures,
    };
  }

  #take(parsed: ParsedCatalog, etag: string | undefined, at: number): boolean {
    const unchanged = this.#readAt !== undefined && sameEntries(parsed, this.#parsed) && etag === this.#etag;
    this.#fresh = true;
    this.#failure = undefined;
    this.#failureStatus = undefined;
    this.#readAt = at;
    if (unchanged) {
      // Keeps the old objects, because caches compare entries by identity.
      this.#parsed = { ...parsed, entries: this.#parsed.entries };
      return false;
    }
    this.#parsed = parsed;
    this.#etag = etag;
    this.#expose();
    return true;
  }

  #expose(): void {
    const { entries } = this.#parsed;
    this.#models = isApiAccount(this.#config) ? apiEntries(this.#config, entries) : exposedEntries(entries, this.#config.models);
  }
}

/** The settings that decide which models an account exposes and what is known of them. */
const namingOf = (account: AccountConfig): unknown =>
  isApiAccount(account) ? [account.models, account.catalog, account.read_models, account.preset] : [account.models];

const sameEntries = (a: ParsedCatalog, b: ParsedCatalog): boolean =>
  a.entries.length === b.entries.length && a.entries.every(({ fields }, index) => isDeepStrictEqual(fields, b.entries[index]?.fields));
