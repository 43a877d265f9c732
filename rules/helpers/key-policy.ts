// The models that a key's policies permit, and the efforts of a model (F4.2); for turns and for the model lists (F4.6).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import type { EffortPolicy, KeyConfig } from '../../proxy/turn/settings.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { EFFORTS } from '../../proxy/turn/wire/efforts.ts';

/** Whether the key's list allows this id; a key without a list may use every model of its Pool. */
export const allowsModel = (key: KeyConfig, id: string): boolean => key.models?.includes(id) ?? true;

/**
 * Refuses a model that is not in the key's list. This comes before the catalog, so that a key cannot find out which models exist outside its
 * list (Q4). The turn's row names the model if the Pool knows it. An unknown one is a client's text of any length (S4).
 * @throws Refusal
 */
export function requireAllowed(id: string, turn: Turn): void {
  if (allowsModel(turn.key, id)) return;
  if (turn.presenceOf(id) !== 'absent') turn.note('model', id);
  throw new Refusal('model_not_allowed', { param: 'model' });
}

const LEVELS = 'supported_reasoning_levels';
const DEFAULT = 'default_reasoning_level';

/** The effort of a catalog entry's level: `{ effort, description }`, or a bare string in older catalogs. */
function effortOf(level: Json): string | undefined {
  const effort = isObject(level) ? level.effort : level;
  return typeof effort === 'string' ? effort : undefined;
}

/** Efforts that the model's entry lists, in its spelling and order; empty if it has no usable list. */
function listedEfforts(entry: JsonObject): readonly string[] {
  const levels = entry[LEVELS];
  return isList(levels) ? levels.map(effortOf).filter((effort) => effort !== undefined) : [];
}

/**
 * The efforts that a key may request for a model, ascending; undefined if every effort is permitted. An entry without levels does not
 * narrow the policy (Q16). An entry with custom efforts only leaves none.
 */
export function permittedEfforts(policy: EffortPolicy | undefined, entry: JsonObject): readonly string[] | undefined {
  if (!policy) return undefined;
  if ('always' in policy) return [policy.always];
  const known = EFFORTS.slice(0, EFFORTS.indexOf(policy.allow_up_to) + 1);
  const listed = listedEfforts(entry);
  return listed.length === 0 ? known : known.filter((effort) => listed.includes(effort));
}

/**
 * The effort that replaces an omitted one. Without a policy: undefined. `always`: the configured effort. `allow_up_to`: the model's default
 * if it is permitted, else the highest permitted effort; undefined if none is.
 */
export function omittedEffort(policy: EffortPolicy | undefined, entry: JsonObject): string | undefined {
  const permitted = permittedEfforts(policy, entry);
  const preferred = entry[DEFAULT];
  return typeof preferred === 'string' && permitted?.includes(preferred) ? preferred : permitted?.at(-1);
}

/**
 * A catalog entry as this key sees it (F4.6); the same object if the policy changes nothing. Levels keep their order and descriptions.
 * Under `allow_up_to` a default that is not permitted is replaced as an omitted effort is.
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

/** The default of the reflected entry. `always` may set an effort that the model does not list, but the entry never advertises it. */
function defaultBeside(policy: EffortPolicy, entry: JsonObject, shown: readonly Json[]): Json | undefined {
  if ('always' in policy) return shown.length === 0 ? undefined : policy.always;
  return entry[DEFAULT] === undefined || entry[DEFAULT] === null ? entry[DEFAULT] : omittedEffort(policy, entry);
}
