// What the gateway reads at accounts of a provider API besides replies: quota evidence, the list of models, and the state of files.
import type { ReadRefusal } from '../errors/read-refusal.ts';
import type { JsonObject } from '../json/json.ts';
import type { AccountConfig, WireWords } from '../settings.ts';
import type { Headers } from '../turn.ts';
import type { QuotaStatement, RateLimit } from './quota-statement.ts';

/** The answer to a request of the gateway's own. */
export interface OwnAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The decoded JSON; undefined if the body was not JSON. */
  readonly body: unknown;
  /** The size of the body as it was sent. */
  readonly bytes: number;
}

/** Where a path begins: at the account's base URL, or at the root of the host. */
export type PathRoot = 'base' | 'origin';

/** Sends a GET to the account with its credential, within the time and size limits of this read. @param from default: the base URL */
export type OwnGet = (path: string, from?: PathRoot) => Promise<OwnAnswer>;

/** The account that is asked. */
export interface ReadTarget {
  readonly account: AccountConfig;
  readonly wire: WireWords;
}

/** The reply that states a quota, and when it came. */
export interface ReplyMoment {
  readonly status: number;
  readonly wire: WireWords;
  /** Unix milliseconds. */
  readonly now: number;
}

export interface ProviderQuota {
  /** The types of events that state a quota. */
  eventTypes(wire: WireWords): readonly string[];
  fromHeaders(headers: Headers, moment: ReplyMoment): QuotaStatement | undefined;
  /**
   * The rate limits of the answer's model; undefined if the answer states none. Absent if the API never states them.
   * @param now Unix milliseconds
   */
  rates?(headers: Headers, now: number): readonly RateLimit[] | undefined;
  /** @param now Unix milliseconds */
  fromEvent(data: JsonObject, now: number): QuotaStatement | undefined;
  /** Absent if the API has no endpoint for the usage of an account. */
  readonly usage?: {
    read(get: OwnGet, asked: ReadTarget): Promise<OwnAnswer>;
    /** Undefined if the answer states no usage. @param now Unix milliseconds */
    parse(body: unknown, now: number): QuotaStatement | undefined;
  };
}

/** An account's list of models. */
export interface CatalogAnswer {
  readonly status: number;
  /** Entries with `slug` or `id`, either a bare list or in `models` or `data`. Any value if the answer was not a list. */
  readonly body: unknown;
  readonly etag?: string;
  /** The size of the answer as it was sent. */
  readonly bytes: number;
  /** The reason why the account sent no list. It is read only if the status is not 2xx. */
  readonly refusal?: ReadRefusal;
}

export interface ProviderCatalog {
  /** Rejects if no answer came. */
  read(get: OwnGet, asked: ReadTarget): Promise<CatalogAnswer>;
}

/** `retry`: the account is still processing the file. */
export type Finalised = 'success' | 'retry' | 'error';

/** Reads the answers about files. Answers are unchecked text of a provider. */
export interface ProviderFiles {
  /** Undefined if the answer has no usable id. */
  idOf(answer: JsonObject): string | undefined;
  /** Undefined if the answer does not state it. */
  sizeOf(answer: JsonObject): number | undefined;
  /** Unix milliseconds; null if the account states no expiry. */
  expiryOf(answer: JsonObject): number | null;
  /** How an upload continues after the file was created. Absent for an API that takes the bytes in the request that creates the file. */
  readonly upload?: {
    /** The address to which the bytes are sent. */
    targetOf(answer: JsonObject): string;
    /** The path of the request that ends the upload. */
    finalisePath(fileId: string, wire: WireWords): string;
    /** Undefined if the answer does not state it. */
    finalisedOf(answer: JsonObject): Finalised | undefined;
  };
}
