// The models of one Pool: look-up by id, the accounts that serve each model, and the models of the lists.
import type { PoolConfig } from '../turn/settings.ts';
import type { ModelView, Presence } from '../turn/turn.ts';
import type { AccountCatalogs } from './catalog/account-catalogs.ts';
import type { Source } from './catalog/cohort.ts';
import { makeEntries } from './lists/native-entry.ts';
import { type Candidates, type ModelAvailability, NO_CANDIDATES, PoolModel, type RoutabilityOfAccounts } from './pool-model.ts';

/** A model with its current availability. */
export interface AvailableModel extends ModelAvailability {
  readonly model: PoolModel;
}

export interface Listed {
  /** Changes whenever `models` changed in a way that lists show. */
  readonly version: number;
  readonly models: readonly AvailableModel[];
}

/** Belongs to one PoolConfig object. A reload creates another, and running turns keep theirs. */
export class PoolModels {
  readonly #pool: PoolConfig;
  readonly #catalog: AccountCatalogs;
  readonly #health: RoutabilityOfAccounts;
  #models: ReadonlyMap<string, PoolModel> = new Map();
  #catalogVersion: number | undefined;
  #healthVersion: number | undefined;
  #listed: Listed = { version: 0, models: [] };

  constructor(pool: PoolConfig, catalog: AccountCatalogs, health: RoutabilityOfAccounts) {
    this.#pool = pool;
    this.#catalog = catalog;
    this.#health = health;
  }

  /** The model; undefined if it is absent or suppressed: both are `invalid_model`. */
  find(id: string): ModelView | undefined {
    const model = this.#current().get(id);
    return model && !model.suppressed ? model.availability(this.#health).view : undefined;
  }

  /**
   * Whether the catalogs have all accounts of the Pool. False for a turn of an earlier configuration, and until the catalogs follow a new
   * one.
   */
  get hasAllAccounts(): boolean {
    return this.#pool.assignments.every(({ account }) => this.#catalog.get(account) !== undefined);
  }

  /** Whether an absent model certainly does not exist in the Pool. This is unknown until one of the Pool's catalogs was read. */
  get isKnown(): boolean {
    const visible = this.#pool.assignments.flatMap(({ account }) => this.#catalog.get(account) ?? []).filter((catalog) => catalog.visible);
    return this.hasAllAccounts && (visible.length === 0 || visible.some((catalog) => catalog.isKnown));
  }

  presence(id: string): Presence {
    const model = this.#current().get(id);
    if (!model) return this.#suppresses(id) ? 'suppressed' : 'absent';
    if (model.suppressed) return 'suppressed';
    if (model.availability(this.#health).view.routable) return 'routable';
    return model.sources.some(({ visible }) => visible) ? 'unroutable' : 'invisible';
  }

  /** The candidates; empty if `find` returns undefined. */
  candidates(id: string): Candidates {
    const model = this.#current().get(id);
    return model && !model.suppressed ? model.availability(this.#health).candidates : NO_CANDIDATES;
  }

  /** Whether the account is a source of the model, in any cohort: pins may lead out of the canonical one (Q12). */
  serves(id: string, account: string): boolean {
    const model = this.#current().get(id);
    return model?.suppressed === false && model.serves(account);
  }

  /** Whether a turn of this many tokens fits the account's window for the model (AA10). */
  fits(id: string, account: string, tokens: number): boolean {
    return this.#current().get(id)?.fits(account, tokens) ?? true;
  }

  /** A model, for operators; it may be suppressed. */
  get(id: string): AvailableModel | undefined {
    const model = this.#current().get(id);
    return model && { ...model.availability(this.#health), model };
  }

  /** All models, for operators, including suppressed and unroutable ones. */
  all(): readonly PoolModel[] {
    return [...this.#current().values()];
  }

  /** The ids that clients may name, whether or not an account can currently serve them. */
  exposed(): readonly string[] {
    return this.all().flatMap(({ id, suppressed, sources }) => (!suppressed && sources.some(({ visible }) => visible) ? id : []));
  }

  /** The routable models in the order of the first visible source that lists them (MC1, Q12). Cheap while nothing has changed. */
  listed(): Listed {
    const models = this.#current();
    const { version } = this.#health;
    if (this.#healthVersion === version) return this.#listed;
    const next: AvailableModel[] = [];
    for (const model of models.values()) {
      const availability = model.suppressed ? undefined : model.availability(this.#health);
      if (availability?.view.routable) next.push({ ...availability, model });
    }
    this.#healthVersion = version;
    const old = this.#listed.models;
    if (next.length !== old.length || next.some(({ view }, index) => view !== old[index]?.view)) {
      this.#listed = { version: this.#listed.version + 1, models: next };
    }
    return this.#listed;
  }

  #current(): ReadonlyMap<string, PoolModel> {
    if (this.#catalogVersion === this.#catalog.version) return this.#models;
    this.#catalogVersion = this.#catalog.version;
    this.#healthVersion = undefined;
    const sources = sourcesByModel(this.#pool, this.#catalog);
    makeEntries(sources);
    this.#models = new Map([...sources].map(([id, found]) => [id, new PoolModel(this.#pool, id, found)]));
    return this.#models;
  }

  #suppresses(id: string): boolean {
    return Object.hasOwn(this.#pool.models, id) && this.#pool.models[id]?.suppressed === true;
  }
}

/** Sources by model. Visible accounts come first, so that the order of a list does not depend on accounts that are not read. */
function sourcesByModel(pool: PoolConfig, catalog: AccountCatalogs): Map<string, [Source, ...Source[]]> {
  const found = new Map<string, [Source, ...Source[]]>();
  const add = (visible: boolean): void => {
    for (const { account: id, active, eligible, tier } of pool.assignments) {
      const account = catalog.get(id);
      if (account?.visible !== visible) continue;
      for (const entry of account.models.values()) {
        const source: Source = { account: id, visible, assigned: visible && active && eligible, tier, isAgent: account.isAgent, entry };
        const sources = found.get(entry.id);
        if (sources) sources.push(source);
        else found.set(entry.id, [source]);
      }
    }
  };
  add(true);
  add(false);
  return found;
}
