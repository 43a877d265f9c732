// The model lists with their ETags, built once per key policy and state of the Pool: every native turn needs the ETag.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { canonicalJson, type JsonObject } from '../turn/json.ts';
import type { EffortPolicy, KeyConfig } from '../turn/settings.ts';
import { backendBody } from './backend-list.ts';
import type { Listed, PoolModels } from './pool-models.ts';
import { publicBody } from './public-list.ts';

/** The effect of a key's policy on its lists. The rules implement it. */
export interface ListPolicy {
  readonly allowsModel: (key: KeyConfig, model: string) => boolean;
  /** The entry with the reasoning levels and the default that the policy permits (F4.6). */
  readonly permittedEntry: (policy: EffortPolicy | undefined, entry: JsonObject) => JsonObject;
}

export interface Listing {
  /** Canonical JSON. */
  readonly body: string;
  /** `W/"<hex SHA-256 of the body>"`: equal bodies give equal tags, on every node and after every restart (A1, Q14). */
  readonly etag: string;
}

const MAX_CACHED_CHARACTERS = 33_554_432;

/** The lists of all Pools. Bounded, least recently used first out: many keys with different policies cannot fill the memory. */
export class ListingCache {
  readonly #listings = new LRUCache<string, Listing>({ maxSize: MAX_CACHED_CHARACTERS, sizeCalculation: ({ body }) => body.length });
  #prefixes = 0;

  /** A unique prefix for the names of one Pool object. */
  prefix(): string {
    this.#prefixes += 1;
    return `${this.#prefixes}:`;
  }

  get(name: string, build: () => Listing): Listing {
    const cached = this.#listings.get(name);
    if (cached) return cached;
    const listing = build();
    this.#listings.set(name, listing);
    return listing;
  }
}

/** A short name of the part of a key that a list depends on: keys with equal policies share their lists. */
const policyName = ({ models, reasoning_effort }: KeyConfig, effort: 'with-effort' | 'without-effort'): string =>
  hash(
    'sha256',
    JSON.stringify([models ? [...new Set(models)].sort() : null, effort === 'with-effort' ? (reasoning_effort ?? null) : null]),
  );

/** The lists of one Pool. */
export class Listings {
  readonly #models: PoolModels;
  readonly #policy: ListPolicy;
  readonly #cache: ListingCache;
  readonly #prefix: string;
  /** By key: the ETag of a turn is one lookup. */
  readonly #etags = new WeakMap<KeyConfig, { readonly version: number; readonly etag: string }>();

  constructor(models: PoolModels, cache: ListingCache, policy: ListPolicy) {
    this.#models = models;
    this.#policy = policy;
    this.#cache = cache;
    this.#prefix = cache.prefix();
  }

  /** The ETag of `backend`, and of every `x-models-etag` (Q14). */
  etag(key: KeyConfig): string {
    const { version } = this.#models.listed();
    const cached = this.#etags.get(key);
    if (cached?.version === version) return cached.etag;
    const { etag } = this.backend(key);
    this.#etags.set(key, { version, etag });
    return etag;
  }

  /** `GET /backend-api/agent/models` and its alias (A1, A2, A7). */
  backend(key: KeyConfig): Listing {
    const listed = this.#models.listed();
    return this.#cache.get(`${this.#prefix}${listed.version}:backend:${policyName(key, 'with-effort')}`, () =>
      listingOf(backendBody(this.#allowed(listed, key), (entry) => this.#policy.permittedEntry(key.reasoning_effort, entry))),
    );
  }

  /** `GET /v1/models`; the effort policy does not change it (F4.6). */
  public(key: KeyConfig): Listing {
    const listed = this.#models.listed();
    return this.#cache.get(`${this.#prefix}${listed.version}:public:${policyName(key, 'without-effort')}`, () =>
      listingOf(publicBody(this.#allowed(listed, key))),
    );
  }

  #allowed({ models }: Listed, key: KeyConfig): Listed['models'] {
    return models.filter(({ view }) => this.#policy.allowsModel(key, view.id));
  }
}

function listingOf(json: JsonObject): Listing {
  const body = canonicalJson(json);
  return { body, etag: `W/"${hash('sha256', body, 'hex')}"` };
}
