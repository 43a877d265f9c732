// The body of `GET /v1/models`: what an SDK needs to know of a model, and nothing of the backend's (ML1, ML2, Q20).
import type { Json, JsonObject } from '../turn/json.ts';
import { advertisedWindow } from './context-window.ts';
import type { ListedModel } from './pool-models.ts';

/** Not the provider's word: it may name the organisation that an account belongs to. */
const OWNER = 'poolgate';

export function publicBody(models: readonly ListedModel[]): JsonObject {
  return { object: 'list', data: models.map(publicEntry) };
}

function publicEntry({ view, cohort, model }: ListedModel): JsonObject {
  const { effective } = advertisedWindow(cohort[0].known.ceilings, model.config);
  return {
    id: view.id,
    object: 'model',
    created: createdOf(view.entry.created),
    owned_by: OWNER,
    ...(effective === undefined ? {} : { context_length: effective }),
  };
}

/** Unix seconds; 0 where the provider does not say, because the day we first saw a model differs between nodes. */
const createdOf = (created: Json | undefined): number =>
  typeof created === 'number' && Number.isSafeInteger(created) && created >= 0 ? created : 0;
