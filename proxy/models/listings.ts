// The model lists as they go out, made once per key policy and state of the Pool: native turns ask for the ETag every time.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { allowsModel } from '../../rules/helpers/key-policy.ts';
import { canonicalJson } from '../turn/json.ts';
import type { KeyConfig } from '../turn/settings.ts';
import { backendBody } from './backend-list.ts';
import { weakEtag } from './etag.ts';
import type { Listed, PoolModels } from './pool-models.ts';
import { publicBody } from './public-list.ts';

/** A body as it goes out, and its ETag (Q14). */
export interface Listing {
  /** Canonical JSON. */
  readonly body: string;
  /** `W/"<hex sha256 of the body>"`; the same bytes wherever an answer bears it. */
  readonly etag: string;
}

const HELD_CHARACTERS = 33_554_432;

/** The bodies of all Pools, the least recently used ones forgotten: keys with lists of their own cannot fill the memory. */
export class ListingCache {
  readonly #listings = new LRUCache<string, Listing>({ maxSize: HELD_CHARACTERS, sizeCalculation: ({ body }) => body.length });
  #owners = 0;

  /** A prefix of its own for each owner's names. */
  owner(): string {
    this.#owners += 1;
    return `${this.#owners}:`;
  }

  get(name: string, make: () => Listing): Listing {
    const held = this.#listings.get(name);
    if (held) return held;
    const made = make();
    this.#listings.set(name, made);
    return made;
  }
}

/** The part of a key that a list depends on, as a short name: keys of equal policy share their bodies. */
const policyName = ({ models, reasoning_effort }: KeyConfig, effort: 'with-effort' | 'without-effort'): string =>
  hash(
    'sha256',
    JSON.stringify([models ? [...new Set(models)].sort() : null, effort === 'with-effort' ? (reasoning_effort ?? null) : null]),
  );

/** The lists of one Pool. */
export class Listings {
  readonly #models: PoolModels;
  readonly #cache: ListingCache;
  readonly #owner: string;
  /** By key, so that the ETag of a turn is a look-up whatever the number of policies. */
  readonly #etags = new WeakMap<KeyConfig, { readonly version: number; readonly etag: string }>();

  constructor(models: PoolModels, cache: ListingCache) {
    this.#models = models;
    this.#cache = cache;
    this.#owner = cache.owner();
  }

  /** The ETag that `backend` would bear now; what `x-models-etag` says (Q14). */
  etag(key: KeyConfig): string {
    const { version } = this.#models.listed();
    const held = this.#etags.get(key);
    if (held?.version === version) return held.etag;
    const { etag } = this.backend(key);
    this.#etags.set(key, { version, etag });
    return etag;
  }

  /** `GET /backend-api/agent/models` and its alias (A1, A2, A7). */
  backend(key: KeyConfig): Listing {
    const listed = this.#models.listed();
    return this.#cache.get(`${this.#owner}${listed.version}:backend:${policyName(key, 'with-effort')}`, () =>
      listing(canonicalJson(backendBody(allowed(listed, key), key.reasoning_effort))),
    );
  }

  /** `GET /v1/models`; the effort policy changes nothing of it (F4.6). */
  public(key: KeyConfig): Listing {
    const listed = this.#models.listed();
    return this.#cache.get(`${this.#owner}${listed.version}:public:${policyName(key, 'without-effort')}`, () =>
      listing(canonicalJson(publicBody(allowed(listed, key)))),
    );
  }
}

const listing = (body: string): Listing => ({ body, etag: weakEtag(body) });

const allowed = ({ models }: Listed, key: KeyConfig): Listed['models'] => models.filter(({ view }) => allowsModel(key, view.id));
