// One model of one Pool under one version of the catalog: its sources, and its availability under the current account health.
import type { ModelConfig, PoolConfig, ServingMode } from '../turn/settings.ts';
import type { ModelView } from '../turn/turn.ts';
import { type Cohort, canonicalCohort, cohortsOf, overflowOf, type Source } from './catalog/cohort.ts';
import { advertisedWindow } from './context-window.ts';
import { configuredMode, resolveMode } from './mode-resolution.ts';

/** The part of UA1 that changes at run time. */
export interface RoutabilityOfAccounts {
  /** Whether the account's health status is `active` and no cooldown holds for it and this exposed model. Ignores quota (UA2). */
  routable(account: string, model: string): boolean;
  /** Changes whenever a result of `routable` may have changed, also when a cooldown ends. */
  readonly version: number;
}

/** Ids of the assigned, eligible, visible accounts in configuration order. Health and quota are checked by selection. */
export interface Candidates {
  /** The canonical cohort. */
  readonly preferred: readonly string[];
  /** Sources for turns that the cohort cannot take: their window is no smaller. Pins may leave both lists (Q12). */
  readonly overflow: readonly string[];
}

/** A model under one version of account health; the same object as long as nothing in it changes. */
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
  /** The accounts of the assigned sources. */
  readonly #assigned: ReadonlySet<string>;
  #availability: Availability | undefined;
  #version: number | undefined;

  /** @param sources in configuration order */
  constructor(pool: PoolConfig, id: string, sources: readonly [Source, ...Source[]]) {
    this.id = id;
    this.config = Object.hasOwn(pool.models, id) ? pool.models[id] : undefined;
    this.sources = sources;
    this.#cohorts = cohortsOf(sources);
    this.#configured = configuredMode(pool, id);
    this.#assigned = new Set(accounts(sources));
  }

  /** The operator removed it from this Pool; its configured serving mode stays (PL5). */
  get suppressed(): boolean {
    return this.config?.suppressed === true;
  }

  /** Whether the account is an assigned source. A set, because each pinned turn calls this: a search in 1,000 accounts costs 3 % of a turn. */
  serves(account: string): boolean {
    return this.#assigned.has(account);
  }

  availability(health: RoutabilityOfAccounts): Availability {
    const { version } = health;
    if (this.#availability && this.#version === version) return this.#availability;
    // The cohorts together have every source that could be routable: an invisible one never is.
    const routable = this.#cohorts.map((cohort) => cohort.filter(({ account, assigned }) => assigned && health.routable(account, this.id)));
    const counts = routable.map(({ length }) => length);
    const cohort = canonicalCohort(this.#cohorts, counts) ?? this.sources;
    const mode = resolveMode(
      this.#configured,
      routable.flat().map(({ entry }) => entry.fields),
    );
    const old = this.#availability;
    this.#version = version;
    // Modes are compared by identity: each decision is one of four constants, or undefined.
    if (old && old.cohort === cohort && old.view.mode === mode) return old;
    const [{ entry }] = cohort;
    const window = advertisedWindow(entry.ceilings, this.config).effective;
    const view: ModelView = Object.freeze({ id: this.id, entry: entry.fields, window, routable: mode !== undefined, mode });
    const overflow = overflowOf(cohort, this.sources, this.config);
    this.#availability = { view, cohort, candidates: { preferred: accounts(cohort), overflow: accounts(overflow) } };
    return this.#availability;
  }
}

const accounts = (sources: readonly Source[]): readonly string[] =>
  sources.filter(({ assigned }) => assigned).map(({ account }) => account);
