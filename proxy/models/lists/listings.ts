// The model lists with their ETags, built once per key policy and state of the Pool, because every native turn needs the ETag.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { canonicalJson, type JsonObject } from '../../turn/json/json.ts';
import type { EffortPolicy, KeyConfig } from '../../turn/settings.ts';
import type { NamedModel } from '../../turn/surface.ts';
import { type ClientVersion, compareVersions, statedVersion } from '../../turn/wire/client-version.ts';
import type { AvailableModel, Listed, PoolModels } from '../pool-models.ts';
import { backendBody, type UnlistedModel, unlistedModels } from './backend-list.ts';
import { namedModel, publicBody } from './public-list.ts';

/** The effect of a key's policy on its lists, which the rules implement. */
export interface ListPolicy {
  readonly allowsModel: (key: KeyConfig, model: string) => boolean;
  /** The entry with the reasoning levels and the default that the policy permits (F4.6). */
  readonly permittedEntry: (policy: EffortPolicy | undefined, entry: JsonObject) => JsonObject;
}

/** Called with the models that a list of native clients leaves out, each time such a list is built. */
export type OnUnlisted = (pool: string, models: readonly UnlistedModel[]) => void;

export interface Listing {
  /** Canonical JSON. */
  readonly body: string;
  /** `W/"<hex SHA-256 of the body>"`: equal bodies give equal tags, on every node and after every restart (A1, Q14). */
  readonly etag: string;
}

const MAX_CACHED_CHARACTERS = 33_554_432;
/** The most client versions whose ETags are kept for a key, because clients choose what they state. */
const MAX_VERSIONS = 16;

/** The lists of all Pools. Bounded with least-recently-used eviction, so that many keys with different policies cannot fill the memory. */
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

/** A short name of the parts of a key that a list depends on, so that keys with equal policies share their lists. */
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
  readonly #unlisted: (models: readonly UnlistedModel[]) => void;
  /** ETags by key and client version, so that the ETag of a turn takes two look-ups. */
  readonly #etags = new WeakMap<KeyConfig, { readonly listed: Listed; readonly byVersion: Map<string, string> }>();

  constructor(
    models: PoolModels,
    cache: ListingCache,
    policy: ListPolicy,
    unlisted: (models: readonly UnlistedModel[]) => void = () => undefined,
  ) {
    this.#unlisted = unlisted;
    this.#models = models;
    this.#policy = policy;
    this.#cache = cache;
    this.#prefix = cache.prefix();
  }

  /** The ETag of `backend`, which is also every `x-models-etag` (Q14). @param version of the client; absent if it states none */
  etag(key: KeyConfig, version?: ClientVersion): string {
    const listed = this.#models.listed();
    let cached = this.#etags.get(key);
    if (cached?.listed !== listed) {
      cached = { listed, byVersion: new Map() };
      this.#etags.set(key, cached);
    }
    const name = version ? `${version[0]}.${version[1]}.${version[2]}` : '';
    const known = cached.byVersion.get(name);
    if (known !== undefined) return known;
    const { etag } = this.backend(key, version);
    if (cached.byVersion.size >= MAX_VERSIONS) cached.byVersion.clear();
    cached.byVersion.set(name, etag);
    return etag;
  }

  /** `GET /backend-api/agent/models` and its alias, without models that need a newer client (A1, A2, A7, RB1). */
  backend(key: KeyConfig, version?: ClientVersion): Listing {
    const listed = this.#models.listed();
    const hidden = listed.models.filter(({ view }) => isTooNew(view, version)).map(({ view }) => view.id);
    // Clients of different versions that see the same models share a list.
    const name = `${listed.version}:backend:${policyName(key, 'with-effort')}:${hidden.length > 0 ? hash('sha256', JSON.stringify(hidden)) : ''}`;
    return this.#cache.get(this.#prefix + name, () => {
      this.#unlisted(unlistedModels(listed.models));
      const shown = this.#allowed(listed, key).filter(({ view }) => !isTooNew(view, version));
      return listingOf(backendBody(shown, (entry) => this.#policy.permittedEntry(key.reasoning_effort, entry)));
    });
  }

  /** `GET /v1/models`; the effort policy does not change it (F4.6). */
  public(key: KeyConfig): Listing {
    const listed = this.#models.listed();
    return this.#cache.get(`${this.#prefix}${listed.version}:public:${policyName(key, 'without-effort')}`, () =>
      listingOf(publicBody(this.#allowed(listed, key))),
    );
  }

  /** The models that the key may use, for lists in other shapes. */
  named(key: KeyConfig): readonly NamedModel[] {
    return this.#allowed(this.#models.listed(), key).map(namedModel);
  }

  #allowed({ models }: Listed, key: KeyConfig): Listed['models'] {
    return models.filter(({ view }) => this.#policy.allowsModel(key, view.id));
  }
}

/** Whether the client asks for all models: agent backends return all to a client that states 0.0.0. */
const asksForAll = (version: ClientVersion): boolean => version.every((part) => part === 0);

/** Whether the provider serves the model only to newer clients. */
function isTooNew({ entry }: AvailableModel['view'], version: ClientVersion | undefined): boolean {
  const minimal = version && !asksForAll(version) ? statedVersion(entry.minimal_client_version) : undefined;
  return minimal !== undefined && version !== undefined && compareVersions(minimal, version) > 0;
}

function listingOf(json: JsonObject): Listing {
  const body = canonicalJson(json);
  return { body, etag: `W/"${hash('sha256', body, 'hex')}"` };
}
