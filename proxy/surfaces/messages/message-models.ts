// The models of a Pool, with its aliases, in the form of the Messages API (AM32).
import { isoOfMs } from '../../base/time/iso-time.ts';
import { invalidRequest } from '../../turn/errors/invalid-request.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import type { NamedModel } from '../../turn/surface.ts';

export function modelObject({ id, displayName, created, window }: NamedModel): JsonObject {
  return {
    type: 'model',
    id,
    display_name: displayName,
    created_at: isoOfMs(created * 1000),
    max_input_tokens: window ?? null,
    max_tokens: null,
    capabilities: null,
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
  };
}

const DEFAULT_LIMIT = 20;
const MOST = 1_000;

/** One page of the list. @param query the parameters `limit`, `after_id` and `before_id` @throws Refusal */
export function modelPage(models: readonly NamedModel[], query: URLSearchParams): JsonObject {
  const limit = limitIn(query.get('limit'));
  const place = (id: string | null, member: string): number | undefined => {
    if (id === null) return undefined;
    const at = models.findIndex((model) => model.id === id);
    if (at === -1) throw invalidRequest(member, 'must be the id of a listed model');
    return at;
  };
  const before = place(query.get('before_id'), 'before_id');
  const after = place(query.get('after_id'), 'after_id');
  const from = after === undefined ? 0 : after + 1;
  const rest = models.slice(from, before);
  // A page before an id ends just before that id.
  const page = before !== undefined && after === undefined ? rest.slice(-limit) : rest.slice(0, limit);
  return {
    data: page.map(modelObject),
    has_more: page.length < rest.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

function limitIn(given: string | null): number {
  if (given === null) return DEFAULT_LIMIT;
  const limit = Number(given);
  if (!/^\d{1,4}$/.test(given) || limit < 1 || limit > MOST) throw invalidRequest('limit', `must be a whole number from 1 to ${MOST}`);
  return limit;
}
