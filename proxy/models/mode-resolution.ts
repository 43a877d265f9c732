// The serving mode of a Pool-model pair: what the operator chose, else what its routable sources say (SM1 to SM5).

import type { JsonObject } from '../turn/json.ts';
import type { PoolConfig, ServingMode } from '../turn/settings.ts';
import type { ModeDecision } from '../turn/turn.ts';

const DECISIONS = {
  lite: Object.freeze<ModeDecision>({ configured: 'lite', effective: 'lite', source: 'override' }),
  full: Object.freeze<ModeDecision>({ configured: 'full', effective: 'full', source: 'override' }),
  autoLite: Object.freeze<ModeDecision>({ configured: 'auto', effective: 'lite', source: 'catalog' }),
  autoFull: Object.freeze<ModeDecision>({ configured: 'auto', effective: 'full', source: 'catalog' }),
} as const;

/** The choice of one Pool for one exposed id, whatever the catalog says of the model just now (PL3 to PL5). */
export const configuredMode = (pool: PoolConfig, model: string): ServingMode =>
  (Object.hasOwn(pool.serving_modes, model) ? pool.serving_modes[model] : undefined) ?? 'auto';

/**
 * Undefined where no source is routable, whatever is configured: such a pair has no mode (MC7, SM5).
 * @param routable the pristine entry of every routable source of the pair, of all cohorts
 */
export function resolveMode(configured: ServingMode, routable: readonly JsonObject[]): ModeDecision | undefined {
  if (routable.length === 0) return undefined;
  if (configured !== 'auto') return DECISIONS[configured];
  return routable.some(advertisesLite) ? DECISIONS.autoLite : DECISIONS.autoFull;
}

/**
 * The contract speaks of entries with and without a map of values per source. Here that map is the list of routable sources: each
 * has an entry of its own, which has no map and so counts by its top-level value. `true` and nothing else selects Lite; a map in
 * its place is one more malformed value (SM2).
 */
const advertisesLite = (entry: JsonObject): boolean => entry.use_responses_lite === true;
