// The body of `GET …/models` on the backend surface: pristine entries with the fields that the Pool and the key set (MC1, F4.6).
import { isAbsent, isObject, type JsonObject } from '../../turn/json/json.ts';
import { NATIVE_MEMBERS } from '../../turn/provider/native-members.ts';
import type { CatalogEntry } from '../catalog/catalog-parser.ts';
import type { Ceilings } from '../catalog/ceilings.ts';
import { advertisedWindow } from '../context-window.ts';
import type { AvailableModel } from '../pool-models.ts';
import { UNKNOWN_WINDOW } from './native-entry.ts';

/** @param permitted returns the entry with the reasoning levels that the key may use */
export function backendBody(models: readonly AvailableModel[], permitted: (entry: JsonObject) => JsonObject): JsonObject {
  return {
    models: models.filter(({ view }) => unreadableMember(view.entry) === undefined).map((listed) => backendEntry(listed, permitted)),
  };
}

/** Fields that are not set here pass unchanged, including `comp_hash`. If the window is unknown, its fields are left out (MC4). */
function backendEntry({ view, cohort, model }: AvailableModel, permitted: (entry: JsonObject) => JsonObject): JsonObject {
  const { window, maximum, percent, compactAt } = advertisedWindow(ceilingsFor(cohort[0].entry), model.config);
  const entry = permitted(view.entry);
  return {
    ...entry,
    slug: view.id,
    context_window: window,
    max_context_window: maximum,
    effective_context_window_percent: percent,
    auto_compact_token_limit: compactAt,
    supported_reasoning_levels: entry.supported_reasoning_levels ?? [],
    use_responses_lite: view.mode?.effective === 'lite',
  };
}

/** Native clients need a window, so a made entry has one even if none is known. */
const ceilingsFor = ({ own, ceilings }: CatalogEntry): Ceilings =>
  own && ceilings.window === undefined ? { ...ceilings, window: UNKNOWN_WINDOW } : ceilings;

/** A model that native clients' lists leave out, and the member that is the reason. */
export interface UnlistedModel {
  readonly model: string;
  readonly member: string;
}

/** The models that only `/v1/models` lists, although they take turns (AA11). */
export const unlistedModels = (models: readonly AvailableModel[]): readonly UnlistedModel[] =>
  models.flatMap(({ view }) => {
    const member = view.kind === 'embedding' ? undefined : unreadableMember(view.entry);
    return member === undefined ? [] : [{ model: view.id, member }];
  });

/**
 * The first member because of which native clients cannot read the entry. They drop the whole list if one entry lacks a field or has one of
 * another type (Q13). Such an entry, for example one that has only an id, appears in `/v1/models` only.
 */
function unreadableMember(entry: JsonObject): string | undefined {
  const member = Object.entries(NATIVE_MEMBERS).find(([name, { check }]) => !check(entry[name]));
  return member?.[0] ?? (hasInstructions(entry) ? undefined : 'base_instructions');
}

const hasInstructions = (entry: JsonObject): boolean =>
  isAbsent(entry.base_instructions)
    ? isObject(entry.model_messages) && typeof entry.model_messages.instructions_template === 'string'
    : typeof entry.base_instructions === 'string';
