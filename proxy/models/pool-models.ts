// The models of one Pool: what a turn finds under a name, which accounts serve it, and what stands in the lists.
import type { PoolConfig } from '../turn/settings.ts';
import type { ModelView } from '../turn/turn.ts';
import type { AccountCatalogs } from './account-catalogs.ts';
import type { Source } from './cohort.ts';
import { type Availability, type Candidates, PoolModel, type RoutabilityOfAccounts } from './pool-model.ts';

/**
 * `absent`: no account of the Pool lists it. `suppressed`: the operator took it out. `invisible`: only accounts that are invisible
 * list it. `unroutable`: listed, and nobody can serve it now (503). Image routes tell these apart (A10).
 */
export type Presence = 'routable' | 'unroutable' | 'invisible' | 'suppressed' | 'absent';

/** A model that stands in the lists of a Pool. */
export interface ListedModel extends Availability {
  readonly model: PoolModel;
}

export interface Listed {
  /** Moves whenever `models` changed in a way that a list could show. */
  readonly version: number;
  readonly models: readonly ListedModel[];
}

const NO_CANDIDATES: Candidates = { preferred: [], overflow: [] };

/** Belongs to one PoolConfig object: a reload brings a new one, and turns in flight keep theirs. */
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

  /** Undefined for a model that no account of the Pool lists, and for a suppressed one: both are `invalid_model`. */
  find(id: string): ModelView | undefined {
    const model = this.#current().get(id);
    return model && !model.suppressed ? model.standing(this.#health).view : undefined;
  }

  presence(id: string): Presence {
    const model = this.#current().get(id);
    if (!model) return this.#suppresses(id) ? 'suppressed' : 'absent';
    if (model.suppressed) return 'suppressed';
    if (model.standing(this.#health).view.routable) return 'routable';
    return model.sources.some(({ visible }) => visible) ? 'unroutable' : 'invisible';
  }

  /** None for a model that `find` does not find. */
  candidates(id: string): Candidates {
    const model = this.#current().get(id);
    return model && !model.suppressed ? model.standing(this.#health).candidates : NO_CANDIDATES;
  }

  /** Whether this account is a source of the model, whatever its window: pins may leave the cohort (Q12). */
  serves(id: string, account: string): boolean {
    const model = this.#current().get(id);
    return model?.suppressed === false && model.sources.some((source) => source.account === account && source.assigned);
  }

  /** A model with what it amounts to now, whether or not turns find it; for operators. */
  known(id: string): ListedModel | undefined {
    const model = this.#current().get(id);
    return model && { ...model.standing(this.#health), model };
  }

  /** Every model that is known, suppressed and unroutable ones too, for operators. */
  all(): readonly PoolModel[] {
    return [...this.#current().values()];
  }

  /** The routable models in the order of the first visible source that lists them (MC1, Q12); one comparison when nothing changed. */
  listed(): Listed {
    const models = this.#current();
    const { version } = this.#health;
    if (this.#healthVersion === version) return this.#listed;
    const next: ListedModel[] = [];
    for (const model of models.values()) {
      const standing = model.suppressed ? undefined : model.standing(this.#health);
      if (standing?.view.routable) next.push({ ...standing, model });
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
    this.#models = new Map([...sources].map(([id, found]) => [id, new PoolModel(this.#pool, id, found)]));
    return this.#models;
  }

  #suppresses(id: string): boolean {
    return Object.hasOwn(this.#pool.models, id) && this.#pool.models[id]?.suppressed === true;
  }
}

/** Visible accounts come first, so that the order of a list never hangs on what an unreadable account once said. */
function sourcesByModel(pool: PoolConfig, catalog: AccountCatalogs): ReadonlyMap<string, [Source, ...Source[]]> {
  const found = new Map<string, [Source, ...Source[]]>();
  const add = (visible: boolean): void => {
    for (const { account: id, active, eligible } of pool.assignments) {
      const account = catalog.get(id);
      if (account?.visible !== visible) continue;
      for (const known of account.models.values()) {
        const source: Source = { account: id, visible, assigned: visible && active && eligible, known };
        const sources = found.get(known.id);
        if (sources) sources.push(source);
        else found.set(known.id, [source]);
      }
    }
  };
  add(true);
  add(false);
  return found;
}
