// The body of `GET /v1/models`: the members of the public API, without the backend's (ML1, ML2, Q20).
import type { Json, JsonObject } from '../../turn/json/json.ts';
import { advertisedWindow } from '../context-window.ts';
import type { ListedModel } from '../pool-models.ts';

/** Replaces the provider's value, which may name the organisation of an account. */
const OWNER = 'poolgate';

export function publicBody(models: readonly ListedModel[]): JsonObject {
  return { object: 'list', data: models.map(publicEntry) };
}

function publicEntry({ view, cohort, model }: ListedModel): JsonObject {
  const { effective } = advertisedWindow(cohort[0].entry.ceilings, model.config);
  return {
    id: view.id,
    object: 'model',
    created: createdOf(view.entry.created),
    owned_by: OWNER,
    ...(effective === undefined ? {} : { context_length: effective }),
  };
}

/** Unix seconds; 0 where the provider states none, because the day a model was first seen differs between nodes. */
const createdOf = (created: Json | undefined): number =>
  typeof created === 'number' && Number.isSafeInteger(created) && created >= 0 ? created : 0;
