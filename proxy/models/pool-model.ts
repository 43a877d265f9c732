// One model of one Pool in one version of the catalog: its sources, and its availability by the current health of the accounts.
import type { ModelConfig, PoolConfig, ServingMode } from '../turn/settings.ts';
import type { ModelView } from '../turn/turn.ts';
import { type Cohort, canonicalCohort, cohortsOf, lowestTierOf, overflowOf, type Source } from './catalog/cohort.ts';
import { advertisedWindow, bucketWindow } from './context-window.ts';
import { configuredMode, resolveMode } from './mode-resolution.ts';

/** The part of UA1 that changes at run time. */
export interface RoutabilityOfAccounts {
  /** Whether the account's health status is `active` and there is no cooldown for it and this exposed model. Ignores quota (UA2). */
  routable(account: string, model: string): boolean;
  /** Changes whenever a result of `routable` may have changed, including when a cooldown ends. */
  readonly version: number;
}

/** Ids of the assigned, eligible and visible accounts of one tier, in configuration order. Selection checks health and quota. */
export interface Candidates {
  /** The tier; 0 if absent. */
  readonly tier?: number;
  /** The accounts of the canonical cohort. */
  readonly preferred: readonly string[];
  /** Sources for turns that the cohort cannot take; their window is no smaller. Pins may lead to accounts in neither list (Q12). */
  readonly overflow: readonly string[];
  /** The candidates of the next higher tier, which has no cohort; absent in most Pools (AA65). */
  readonly next?: Candidates;
}

export const NO_CANDIDATES: Candidates = { preferred: [], overflow: [] };

/** Links the candidates of each tier, the lowest first. Undefined if there is no tier. */
export const linkedTiers = (tiers: readonly Candidates[]): Candidates | undefined =>
  tiers.reduceRight<Candidates | undefined>((next, own) => (next ? { ...own, next } : own), undefined);

/** The candidates of all tiers, the lowest first. */
export function* tiersFrom(candidates: Candidates | undefined): Generator<Candidates> {
  for (let tier = candidates; tier; tier = tier.next) yield tier;
}

/** A model at one version of account health; the same object as long as nothing in it changes. */
export interface ModelAvailability {
  readonly view: ModelView;
  readonly cohort: Cohort;
  readonly candidates: Candidates;
}

export class PoolModel {
  readonly id: string;
  readonly config: ModelConfig | undefined;
  readonly sources: readonly [Source, ...Source[]];
  /** The sources of the lowest tier. */
  readonly #lowest: Cohort;
  readonly #cohorts: readonly Cohort[];
  /** The sources of higher tiers. */
  readonly #higher: readonly Source[];
  readonly #next: Candidates | undefined;
  readonly #configured: ServingMode;
  /** The accounts of the assigned sources. */
  readonly #assigned: ReadonlySet<string>;
  #availability: ModelAvailability | undefined;
  #version: number | undefined;

  /** @param sources in configuration order */
  constructor(pool: PoolConfig, id: string, sources: readonly [Source, ...Source[]]) {
    this.id = id;
    this.config = Object.hasOwn(pool.models, id) ? pool.models[id] : undefined;
    this.sources = sources;
    this.#lowest = lowestTierOf(sources);
    this.#cohorts = cohortsOf(this.#lowest);
    const [{ tier: lowest }] = this.#lowest;
    this.#higher = this.#lowest === sources ? NO_SOURCES : sources.filter(({ tier, assigned }) => assigned && tier > lowest);
    this.#next = tiersAbove(this.#higher);
    this.#configured = configuredMode(pool, id);
    this.#assigned = new Set(accounts(sources));
  }

  get #embeds(): boolean {
    return this.sources.every(({ entry }) => entry.own?.kind === 'embedding');
  }

  /** Whether the operator removed the model from this Pool. Its configured serving mode stays (PL5). */
  get suppressed(): boolean {
    return this.config?.suppressed === true;
  }

  /**
   * Whether the account is an assigned source. A set is used, because each pinned turn calls this: a search in 1,000 accounts costs 3 % of
   * a turn.
   */
  serves(account: string): boolean {
    return this.#assigned.has(account);
  }

  /**
   * Whether a turn of this many tokens fits the window of the account. An account without a window takes it only if the cohort has none
   * (AA10).
   */
  fits(account: string, tokens: number): boolean {
    const source = this.sources.find((one) => one.account === account);
    const window = source && this.#windowOf(source);
    if (window !== undefined) return tokens <= window;
    const [first] = this.#availability?.cohort ?? this.#lowest;
    return this.#windowOf(first) === undefined;
  }

  /** The known window. For an API account not that of its entry, which has a default if none is known (AA11). */
  #windowOf({ entry }: Source): number | undefined {
    return entry.own ? entry.own.contextWindow : bucketWindow(entry.ceilings, this.config);
  }

  availability(health: RoutabilityOfAccounts): ModelAvailability {
    const { version } = health;
    if (this.#availability && this.#version === version) return this.#availability;
    // The cohorts and the higher tiers together have every source that could be routable, because an invisible one never is.
    const isRoutable = ({ account, assigned }: Source): boolean => assigned && health.routable(account, this.id);
    const routable = this.#cohorts.map((cohort) => cohort.filter(isRoutable));
    const counts = routable.map(({ length }) => length);
    const cohort = canonicalCohort(this.#cohorts, counts) ?? this.#lowest;
    const mode = resolveMode(
      this.#configured,
      [...routable.flat(), ...this.#higher.filter(isRoutable)].map(({ entry }) => entry.fields),
    );
    const old = this.#availability;
    this.#version = version;
    // Modes are compared by identity, because each decision is one of four constants or undefined.
    if (old && old.cohort === cohort && old.view.mode === mode) return old;
    const [{ entry }] = cohort;
    const window = advertisedWindow(entry.ceilings, this.config).effective;
    const kind = this.#embeds ? { kind: 'embedding' as const } : {};
    const view: ModelView = Object.freeze({ id: this.id, entry: entry.fields, window, ...kind, routable: mode !== undefined, mode });
    const overflow = overflowOf(cohort, this.#lowest, this.config);
    const [{ tier }] = cohort;
    const own = { ...(tier > 0 && { tier }), preferred: accounts(cohort), overflow: accounts(overflow) };
    this.#availability = { view, cohort, candidates: this.#next ? { ...own, next: this.#next } : own };
    return this.#availability;
  }
}

const accounts = (sources: readonly Source[]): readonly string[] =>
  sources.filter(({ assigned }) => assigned).map(({ account }) => account);

const NO_SOURCES: readonly Source[] = [];

function tiersAbove(sources: readonly Source[]): Candidates | undefined {
  const tiers = [...new Set(sources.map(({ tier }) => tier))].sort((a, b) => a - b);
  return linkedTiers(tiers.map((tier) => ({ tier, preferred: accounts(sources.filter((source) => source.tier === tier)), overflow: [] })));
}
