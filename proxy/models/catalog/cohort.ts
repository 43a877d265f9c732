// The canonical cohort of a model: the sources with equal ceilings whose entry represents the model in this Pool (MC3, Q12).
import type { ModelConfig } from '../../turn/settings.ts';
import { bucketWindow } from '../context-window.ts';
import type { CatalogEntry } from './catalog-parser.ts';
import { ceilingsKey } from './ceilings.ts';

/** An account that lists the model and is assigned to the Pool. */
export interface Source {
  readonly account: string;
  readonly visible: boolean;
  /** The configured part of UA1: the assignment is active and eligible, and the account is visible. */
  readonly assigned: boolean;
  /** The tier of the assignment (AA65). */
  readonly tier: number;
  /** Whether it is an agent account. Agent accounts represent a model before others (AA10). */
  readonly isAgent: boolean;
  readonly entry: CatalogEntry;
}

/** Sources with equal ceilings, in configuration order; never empty. */
export type Cohort = readonly [Source, ...Source[]];

/**
 * Groups the sources by their pristine entries. Serving mode and health have no influence (MC6). Sources of invisible accounts count only
 * if there are no others: then the model stays known, but has no routable source (Q5).
 * @param sources in configuration order
 */
export function cohortsOf(sources: readonly Source[]): readonly Cohort[] {
  const visible = sources.filter((source) => source.visible);
  const cohorts = new Map<string, [Source, ...Source[]]>();
  for (const source of visible.length > 0 ? visible : sources) {
    const key = ceilingsKey(source.entry.ceilings);
    const cohort = cohorts.get(key);
    if (cohort) cohort.push(source);
    else cohorts.set(key, [source]);
  }
  return [...cohorts.values()];
}

/**
 * The sources of the lowest tier that has any, agent accounts first. The cohort is formed from them (AA10). The same list if all sources
 * have the same tier and kind.
 */
export function lowestTierOf(sources: Cohort): Cohort {
  const [first] = sources;
  if (sources.every(({ tier, isAgent }) => tier === first.tier && isAgent === first.isAgent)) return sources;
  const usable = [sources.filter(({ assigned }) => assigned), sources.filter(({ visible }) => visible), sources];
  const counted = usable.find(({ length }) => length > 0) as Cohort;
  const lowest = Math.min(...counted.map(({ tier }) => tier));
  const own = sources.filter(({ tier }) => tier === lowest);
  // The sort is stable: sources of a kind stay in configuration order.
  return own.sort((a, b) => Number(b.isAgent) - Number(a.isAgent)) as readonly Source[] as Cohort;
}

/**
 * The cohort that comes first: one with an agent account before one without (AA10), then by the number of routable members, then by the
 * number of members, then by configuration order. Undefined for an empty list.
 * @param routable the number of routable members of each cohort
 */
export function canonicalCohort(cohorts: readonly Cohort[], routable: readonly number[]): Cohort | undefined {
  const rank = ([a, left]: readonly [Cohort, number], [b, right]: readonly [Cohort, number]): number =>
    Number(b[0].isAgent) - Number(a[0].isAgent) || right - left || b.length - a.length;
  // The sort is stable: ties stay in configuration order.
  return cohorts.map((cohort, index) => [cohort, routable[index] ?? 0] as const).sort(rank)[0]?.[0];
}

/**
 * The sources that may take a turn if the cohort cannot. Their window is no smaller than the advertised one, so a prompt that fits the
 * advertised window fits there too. If the operator's override is larger than the cohort's window, the cohort's window counts. A source
 * without a window qualifies only if the cohort has none.
 */
export function overflowOf(cohort: Cohort, sources: readonly Source[], config: ModelConfig | undefined): readonly Source[] {
  const windowOf = (source: Source): number | undefined => bucketWindow(source.entry.ceilings, config);
  const window = windowOf(cohort[0]);
  const needed = window === undefined ? 0 : Math.min(window, config?.context_window ?? window);
  const members = new Set<Source>(cohort);
  return sources.filter((source) => !members.has(source) && (windowOf(source) ?? 0) >= needed);
}
