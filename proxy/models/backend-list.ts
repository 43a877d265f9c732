// The body of `GET …/models` on the backend surface: pristine entries with this Pool's and this key's fields set (MC1, F4.6).
import { reflectedEntry } from '../../rules/helpers/key-policy.ts';
import type { JsonObject } from '../turn/json.ts';
import type { EffortPolicy } from '../turn/settings.ts';
import { advertisedWindow } from './context-window.ts';
import { servesNativeClients } from './native-entry.ts';
import type { ListedModel } from './pool-models.ts';

/** Entries that native clients could not read are left out, since one of those would cost them all others (Q13). */
export function backendBody(models: readonly ListedModel[], effort: EffortPolicy | undefined): JsonObject {
  return { models: models.filter(({ view }) => servesNativeClients(view.entry)).map((listed) => backendEntry(listed, effort)) };
}

/** Every field that is not ours passes as it came, `comp_hash` among them. An unknown window leaves its fields out (MC4). */
function backendEntry({ view, cohort, model }: ListedModel, effort: EffortPolicy | undefined): JsonObject {
  const { window, maximum, percent, compactAt } = advertisedWindow(cohort[0].known.ceilings, model.config);
  const entry = reflectedEntry(effort, view.entry);
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
