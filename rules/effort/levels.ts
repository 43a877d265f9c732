// What an effort policy permits of a model: pure functions, for turns (F4.2) and for the catalog's reflection (F4.6).

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject } from '../../proxy/turn/json.ts';
import type { EffortPolicy } from '../../proxy/turn/settings.ts';

/** Ascending (RE4). Whatever is not in here is a custom effort. */
export const KNOWN_EFFORTS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];

const LEVELS = 'supported_reasoning_levels';
const DEFAULT = 'default_reasoning_level';

/** The effort that a level of a catalog entry names: `{ effort, description }`, or a bare string of older catalogs. */
function effortOf(level: Json): string | undefined {
  const effort = isObject(level) ? level.effort : level;
  return typeof effort === 'string' ? effort : undefined;
}

/** Efforts that the model's entry lists, as it spells and orders them; empty where it has no usable list. */
export function listedEfforts(entry: JsonObject): readonly string[] {
  const levels = entry[LEVELS];
  return isList(levels) ? levels.map(effortOf).filter((effort) => effort !== undefined) : [];
}

/**
 * The efforts that a key may ask of a model, ascending; undefined where any will do.
 * An entry without levels does not narrow (Q16); one that lists only custom efforts leaves nothing.
 */
export function permittedEfforts(policy: EffortPolicy | undefined, entry: JsonObject): readonly string[] | undefined {
  if (!policy) return undefined;
  if ('always' in policy) return [policy.always];
  const known = KNOWN_EFFORTS.slice(0, KNOWN_EFFORTS.indexOf(policy.allow_up_to) + 1);
  const listed = listedEfforts(entry);
  return listed.length === 0 ? known : known.filter((effort) => listed.includes(effort));
}

/**
 * What an omitted effort becomes: nothing (unrestricted), the configured one (always), or the permitted default of the model,
 * else the highest permitted (allow_up_to); undefined there means that nothing is permitted.
 */
export function omittedEffort(policy: EffortPolicy | undefined, entry: JsonObject): string | undefined {
  const permitted = permittedEfforts(policy, entry);
  const preferred = entry[DEFAULT];
  return typeof preferred === 'string' && permitted?.includes(preferred) ? preferred : permitted?.at(-1);
}

/**
 * A catalog entry as this key may see it (F4.6); the same object where the policy changes nothing. Levels are filtered as the entry
 * has them, descriptions and order included. Under a ceiling a default that is not permitted becomes what an omitted effort becomes.
 */
export function reflectedEntry(policy: EffortPolicy | undefined, entry: JsonObject): JsonObject {
  const permitted = permittedEfforts(policy, entry);
  if (!policy || !permitted) return entry;
  const levels = isList(entry[LEVELS]) ? entry[LEVELS] : [];
  const shown = levels.filter((level) => permitted.includes(effortOf(level) ?? ''));
  const { [DEFAULT]: advertised, ...rest } = entry;
  const resolved = defaultBeside(policy, entry, shown);
  if (shown.length === levels.length && resolved === advertised) return entry;
  return { ...rest, [LEVELS]: shown, ...(resolved === undefined ? {} : { [DEFAULT]: resolved }) };
}

/** An effort that the model does not list is used by `always`, but never advertised. */
function defaultBeside(policy: EffortPolicy, entry: JsonObject, shown: readonly Json[]): Json | undefined {
  if ('always' in policy) return shown.length === 0 ? undefined : policy.always;
  return entry[DEFAULT] === undefined || entry[DEFAULT] === null ? entry[DEFAULT] : omittedEffort(policy, entry);
}
