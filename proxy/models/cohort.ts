// The canonical cohort: the sources of one model that agree on its ceilings, and speak for it in this Pool (MC3, Q12).
import type { ModelConfig } from '../turn/settings.ts';
import type { CatalogEntry } from './catalog-parser.ts';
import { ceilingsKey } from './ceilings.ts';
import { bucketWindow } from './context-window.ts';

/** One account that lists the model and is assigned to the Pool. */
export interface Source {
  readonly account: string;
  readonly visible: boolean;
  /** The part of UA1 that the configuration settles: active and eligible here, and the account visible. */
  readonly assigned: boolean;
  readonly known: CatalogEntry;
}

/** Sources with equal ceilings, in configuration order; never empty. */
export type Cohort = readonly [Source, ...Source[]];

/**
 * Grouped by pristine entries alone: neither serving mode nor health has a say (MC6). Sources whose account is invisible speak only
 * where no other is left: the model stays known then, though nobody can serve it (Q5).
 * @param sources in configuration order
 */
export function cohortsOf(sources: readonly Source[]): readonly Cohort[] {
  const visible = sources.filter((source) => source.visible);
  const cohorts = new Map<string, [Source, ...Source[]]>();
  for (const source of visible.length > 0 ? visible : sources) {
    const key = ceilingsKey(source.known.ceilings);
    const cohort = cohorts.get(key);
    if (cohort) cohort.push(source);
    else cohorts.set(key, [source]);
  }
  return [...cohorts.values()];
}

/**
 * Most routable members, then most members, then first in configuration order; undefined only for no cohort at all.
 * @param routable how many members of each cohort are routable
 */
export function canonicalCohort(cohorts: readonly Cohort[], routable: readonly number[]): Cohort | undefined {
  const rank = ([a, left]: readonly [Cohort, number], [b, right]: readonly [Cohort, number]): number => right - left || b.length - a.length;
  // The sort is stable: what ties stays in configuration order.
  return cohorts.map((cohort, index) => [cohort, routable[index] ?? 0] as const).sort(rank)[0]?.[0];
}

/**
 * The other sources that may take a turn when the cohort cannot: those whose window is no smaller than what clients were told, so
 * that a prompt which fits the advertised window fits there too. An operator's larger override is a promise for the cohort, and
 * asks no more of the others than of it. A source that states no window is none smaller only where none is stated at all.
 */
export function overflowOf(cohort: Cohort, sources: readonly Source[], config: ModelConfig | undefined): readonly Source[] {
  const windowOf = (source: Source): number | undefined => bucketWindow(source.known.ceilings, config);
  const told = windowOf(cohort[0]);
  const needed = told === undefined ? 0 : Math.min(told, config?.context_window ?? told);
  const members = new Set<Source>(cohort);
  return sources.filter((source) => !members.has(source) && (windowOf(source) ?? 0) >= needed);
}
