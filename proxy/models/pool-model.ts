// One model of one Pool, under one version of the catalog: its sources, and what health makes of them right now.
import type { ModelConfig, PoolConfig, ServingMode } from '../turn/settings.ts';
import type { ModelView } from '../turn/turn.ts';
import { type Cohort, canonicalCohort, cohortsOf, overflowOf, type Source } from './cohort.ts';
import { configuredMode, resolveMode } from './mode-resolution.ts';

/** The part of UA1 that changes while the gateway runs. */
export interface RoutabilityOfAccounts {
  /** Health status `active`, and no cooldown that holds for this account and exposed model. Quota is no part of it (UA2). */
  routable(account: string, model: string): boolean;
  /** Moves whenever an answer of `routable` may have become another, so also when a cooldown ends. */
  readonly version: number;
}

/** Account ids in configuration order: active and eligible here, and visible. Their health and quota are for selection to ask. */
export interface Candidates {
  /** The canonical cohort. */
  readonly preferred: readonly string[];
  /** Where the cohort cannot take the turn: sources with a window no smaller. Pins may go elsewhere still (Q12). */
  readonly overflow: readonly string[];
}

/** What one model amounts to under one version of health; the same object as long as it amounts to the same. */
export interface Availability {
  readonly view: ModelView;
  readonly cohort: Cohort;
  readonly candidates: Candidates;
}

export class PoolModel {
  readonly id: string;
  readonly config: ModelConfig | undefined;
  readonly sources: readonly [Source, ...Source[]];
  readonly #cohorts: readonly Cohort[];
  readonly #configured: ServingMode;
  #standing: Availability | undefined;
  #version: number | undefined;

  /** @param sources in configuration order */
  constructor(pool: PoolConfig, id: string, sources: readonly [Source, ...Source[]]) {
    this.id = id;
    this.config = Object.hasOwn(pool.models, id) ? pool.models[id] : undefined;
    this.sources = sources;
    this.#cohorts = cohortsOf(sources);
    this.#configured = configuredMode(pool, id);
  }

  /** The operator took it out of this Pool; its serving mode stays chosen (PL5). */
  get suppressed(): boolean {
    return this.config?.suppressed === true;
  }

  standing(health: RoutabilityOfAccounts): Availability {
    const { version } = health;
    if (this.#standing && this.#version === version) return this.#standing;
    // Between them the cohorts hold every source that could be routable: an invisible one never is.
    const routable = this.#cohorts.map((cohort) => cohort.filter(({ account, assigned }) => assigned && health.routable(account, this.id)));
    const counts = routable.map(({ length }) => length);
    const cohort = canonicalCohort(this.#cohorts, counts) ?? this.sources;
    const mode = resolveMode(
      this.#configured,
      routable.flat().map(({ known }) => known.entry),
    );
    const old = this.#standing;
    this.#version = version;
    // A mode's decision is one of four constants, and none where nothing is routable.
    if (old && old.cohort === cohort && old.view.mode === mode) return old;
    const { entry } = cohort[0].known;
    const view: ModelView = Object.freeze({ id: this.id, entry, routable: mode !== undefined, mode });
    const overflow = overflowOf(cohort, this.sources, this.config);
    this.#standing = { view, cohort, candidates: { preferred: accounts(cohort), overflow: accounts(overflow) } };
    return this.#standing;
  }
}

const accounts = (sources: readonly Source[]): readonly string[] =>
  sources.filter(({ assigned }) => assigned).map(({ account }) => account);
