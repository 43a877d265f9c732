// What the rest of the gateway asks about models: one door to the Pools' catalogs, whatever configuration a turn still holds.
import type { KeyConfig, PoolConfig } from '../turn/settings.ts';
import type { ModelView } from '../turn/turn.ts';
import type { Catalog } from './catalog.ts';
import { type Listing, ListingCache, Listings } from './listings.ts';
import type { Candidates, RoutabilityOfAccounts } from './pool-model.ts';
import { PoolModels, type Presence } from './pool-models.ts';

interface PoolCatalog {
  readonly models: PoolModels;
  readonly listings: Listings;
}

export class ModelDirectory {
  readonly #catalog: Catalog;
  readonly #health: RoutabilityOfAccounts;
  readonly #cache = new ListingCache();
  /** By the configuration's own object: a reload makes new ones, and the old ones go with the last turn that holds them. */
  readonly #pools = new WeakMap<PoolConfig, PoolCatalog>();

  constructor(catalog: Catalog, health: RoutabilityOfAccounts) {
    this.#catalog = catalog;
    this.#health = health;
  }

  /** `Turn.findModel`: a promise only where the accounts are read again for an id that the Pool has never heard of (Q12). */
  find(pool: PoolConfig, id: string): ModelView | undefined | Promise<ModelView | undefined> {
    const { models } = this.#of(pool);
    const view = models.find(id);
    if (view || models.presence(id) !== 'absent') return view;
    const read = this.#catalog.discover(() => models.presence(id) !== 'absent');
    return read?.then(() => models.find(id));
  }

  /** Why a model is or is not there; reads nothing. */
  presence(pool: PoolConfig, id: string): Presence {
    return this.#of(pool).models.presence(id);
  }

  /** Which accounts a turn of this model should go to. */
  candidates(pool: PoolConfig, id: string): Candidates {
    return this.#of(pool).models.candidates(id);
  }

  /** Whether a pinned turn of this model may go to that account. */
  serves(pool: PoolConfig, id: string, account: string): boolean {
    return this.#of(pool).models.serves(id, account);
  }

  /** Every model that the Pool knows, with its sources, for operators. */
  models(pool: PoolConfig): PoolModels {
    return this.#of(pool).models;
  }

  /** The value of `etag` on the backend's model routes and of every `x-models-etag` (Q14). */
  etag(pool: PoolConfig, key: KeyConfig): string {
    return this.#of(pool).listings.etag(key);
  }

  backendList(pool: PoolConfig, key: KeyConfig): Listing {
    return this.#of(pool).listings.backend(key);
  }

  publicList(pool: PoolConfig, key: KeyConfig): Listing {
    return this.#of(pool).listings.public(key);
  }

  #of(pool: PoolConfig): PoolCatalog {
    const known = this.#pools.get(pool);
    if (known) return known;
    const models = new PoolModels(pool, this.#catalog.accounts, this.#health);
    const made = { models, listings: new Listings(models, this.#cache) };
    this.#pools.set(pool, made);
    return made;
  }
}
