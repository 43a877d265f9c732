// The models of all Pools, for the rest of the gateway. Turns of an earlier configuration keep the models of their own Pool object.
import { plainRefusal } from '../turn/errors/refusal.ts';
import type { AccountModel } from '../turn/provider/account-model.ts';
import { isApiAccount } from '../turn/provider/api-account.ts';
import type { AccountConfig, KeyConfig, PoolConfig } from '../turn/settings.ts';
import type { NamedModel } from '../turn/surface.ts';
import type { ModelView, Presence } from '../turn/turn.ts';
import type { ClientVersion } from '../turn/wire/client-version.ts';
import type { Catalog } from './catalog/catalog.ts';
import { type UnlistedModel, unlistedModels } from './lists/backend-list.ts';
import { type Listing, ListingCache, Listings, type ListPolicy, type OnUnlisted } from './lists/listings.ts';
import type { Candidates, RoutabilityOfAccounts } from './pool-model.ts';
import { PoolModels } from './pool-models.ts';

interface PoolCatalog {
  readonly models: PoolModels;
  readonly listings: Listings;
}

export class ModelDirectory {
  readonly #catalog: Catalog;
  readonly #health: RoutabilityOfAccounts;
  readonly #policy: ListPolicy;
  readonly #onUnlisted: OnUnlisted;
  readonly #cache = new ListingCache();
  /**
   * Catalogs by the Pool's configuration object. A reload creates new objects, and the old ones are collected with the last turn that uses
   * them.
   */
  readonly #pools = new WeakMap<PoolConfig, PoolCatalog>();

  constructor(catalog: Catalog, health: RoutabilityOfAccounts, policy: ListPolicy, onUnlisted: OnUnlisted = () => undefined) {
    this.#onUnlisted = onUnlisted;
    this.#catalog = catalog;
    this.#health = health;
    this.#policy = policy;
  }

  /**
   * Finds a model (`Turn.findModel`). A promise only if the accounts are read again because the Pool has no such id (Q12).
   * @throws Refusal `no_eligible_account` while the models of the Pool are unknown, because the client may try again, which `invalid_model`
   * forbids
   */
  find(pool: PoolConfig, id: string): ModelView | undefined | Promise<ModelView | undefined> {
    const { models } = this.#of(pool);
    const view = models.find(id);
    if (view || models.presence(id) !== 'absent') return view;
    // A read cannot return the accounts of an earlier configuration.
    const read = models.hasAllAccounts ? this.#catalog.discover(() => models.presence(id) !== 'absent') : undefined;
    return read ? read.then(() => foundIn(models, id)) : foundIn(models, id);
  }

  /** Whether a model can be used, or why not. Never reads an account. */
  presence(pool: PoolConfig, id: string): Presence {
    return this.#of(pool).models.presence(id);
  }

  /** The accounts to which a turn of this model should go. */
  candidates(pool: PoolConfig, id: string): Candidates {
    return this.#of(pool).models.candidates(id);
  }

  /** Whether a pinned turn of this model may go to the account. */
  serves(pool: PoolConfig, id: string, account: string): boolean {
    return this.#of(pool).models.serves(id, account);
  }

  /** What is known of a model at an API account; undefined for agent accounts, and if nothing is known. */
  accountModel(account: AccountConfig, id: string): AccountModel | undefined {
    return isApiAccount(account) ? this.#catalog.accounts.get(account.id)?.models.get(id)?.own : undefined;
  }

  /** Whether a turn of this many tokens fits the account's window for the model (AA10). */
  fits(pool: PoolConfig, id: string, account: string, tokens: number): boolean {
    return this.#of(pool).models.fits(id, account, tokens);
  }

  /** The models of a Pool, for operators. */
  models(pool: PoolConfig): PoolModels {
    return this.#of(pool).models;
  }

  /** The models of a Pool that the native model list leaves out (AA11). */
  unlisted(pool: PoolConfig): readonly UnlistedModel[] {
    return unlistedModels(this.#of(pool).models.listed().models);
  }

  /** The value of `etag` on the backend's model routes, which is also every `x-models-etag` (Q14). @param version of the client (RB1) */
  etag(pool: PoolConfig, key: KeyConfig, version?: ClientVersion): string {
    return this.#of(pool).listings.etag(key, version);
  }

  backendList(pool: PoolConfig, key: KeyConfig, version?: ClientVersion): Listing {
    return this.#of(pool).listings.backend(key, version);
  }

  publicList(pool: PoolConfig, key: KeyConfig): Listing {
    return this.#of(pool).listings.public(key);
  }

  /** The models that the key may use. */
  named(pool: PoolConfig, key: KeyConfig): readonly NamedModel[] {
    return this.#of(pool).listings.named(key);
  }

  #of(pool: PoolConfig): PoolCatalog {
    const known = this.#pools.get(pool);
    if (known) return known;
    const models = new PoolModels(pool, this.#catalog.accounts, this.#health);
    const made = { models, listings: new Listings(models, this.#cache, this.#policy, (left) => this.#onUnlisted(pool.id, left)) };
    this.#pools.set(pool, made);
    return made;
  }
}

function foundIn(models: PoolModels, id: string): ModelView | undefined {
  const view = models.find(id);
  if (view || models.presence(id) !== 'absent' || models.isKnown) return view;
  throw plainRefusal('no_eligible_account');
}
