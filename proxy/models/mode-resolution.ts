// The serving mode of a model in a Pool: the operator's choice, otherwise what its routable sources advertise (SM1 to SM5).
import type { JsonObject } from '../turn/json/json.ts';
import type { PoolConfig, ServingMode } from '../turn/settings.ts';
import type { ModeDecision } from '../turn/turn.ts';

const DECISIONS = {
  lite: Object.freeze<ModeDecision>({ configured: 'lite', effective: 'lite', source: 'override' }),
  full: Object.freeze<ModeDecision>({ configured: 'full', effective: 'full', source: 'override' }),
  autoLite: Object.freeze<ModeDecision>({ configured: 'auto', effective: 'lite', source: 'catalog' }),
  autoFull: Object.freeze<ModeDecision>({ configured: 'auto', effective: 'full', source: 'catalog' }),
} as const;

/** The operator's choice for an exposed id, whether or not the catalog currently has the model (PL3 to PL5). */
export const configuredMode = (pool: PoolConfig, model: string): ServingMode =>
  (Object.hasOwn(pool.serving_modes, model) ? pool.serving_modes[model] : undefined) ?? 'auto';

/**
 * The mode. Undefined if no source is routable: such a pair has no mode, even if one is configured (MC7, SM5).
 * @param routable the pristine entries of all routable sources, of every cohort
 */
export function resolveMode(configured: ServingMode, routable: readonly JsonObject[]): ModeDecision | undefined {
  if (routable.length === 0) return undefined;
  if (configured !== 'auto') return DECISIONS[configured];
  return routable.some(advertisesLite) ? DECISIONS.autoLite : DECISIONS.autoFull;
}

/**
 * The contract describes entries with and without a map of values per source. Here each source has its own entry without such a map, so
 * that its top-level value counts. Only `true` selects Lite. A map instead of a boolean is malformed (SM2).
 */
const advertisesLite = (entry: JsonObject): boolean => entry.use_responses_lite === true;
