// The body of `GET /v1/models`: the members of the public API, and none of the backend's (ML1, ML2, Q20).
import { asCount, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { NamedModel } from '../../turn/surface.ts';
import { advertisedWindow } from '../context-window.ts';
import type { AvailableModel } from '../pool-models.ts';

/** Replaces the provider's value, which may name the organisation of an account. */
const OWNER = 'poolgate';

export function publicBody(models: readonly AvailableModel[]): JsonObject {
  return { object: 'list', data: models.map(publicEntry) };
}

export function namedModel({ view: { id, entry }, cohort, model }: AvailableModel): NamedModel {
  const { effective: window } = advertisedWindow(cohort[0].entry.ceilings, model.config);
  return { id, displayName: id, created: createdOf(entry.created), window };
}

function publicEntry(listed: AvailableModel): JsonObject {
  const { id, created, window: effective } = namedModel(listed);
  return {
    id,
    object: 'model',
    created,
    owned_by: OWNER,
    ...(effective === undefined ? {} : { context_length: effective }),
  };
}

/** The last time that a date can have; Unix seconds. */
const LAST_DATE = 8_640_000_000_000;

/** Unix seconds; 0 if the provider states no possible time, because nodes would differ in the day on which they first saw a model. */
function createdOf(stated: Json | undefined): number {
  const created = asCount(stated);
  return created !== undefined && created <= LAST_DATE ? created : 0;
}
