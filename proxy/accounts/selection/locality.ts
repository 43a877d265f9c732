// Prompt-cache locality: which turns are steered by their `prompt_cache_key`, and by what (F8.3, Q11).
import { dispatchedKind } from '../../turn/kinds.ts';
import type { Body } from '../../turn/turn.ts';
import type { SelectedTurn } from './demand.ts';
import { hashOf } from './rendezvous.ts';

/** Undefined where locality has no say: another route, a websocket, a Pool without it, or a turn without a key. */
export function localityKeyOf({ route, client, pool, key, model }: SelectedTurn, body: Body | undefined): number | undefined {
  if (!pool.prompt_cache_locality || client !== 'http' || route.method !== 'POST' || !dispatchedKind(route.kind)?.locality)
    return undefined;
  const cacheKey = body?.prompt_cache_key;
  if (typeof cacheKey !== 'string' || cacheKey === '' || !model) return undefined;
  // Two keys of a Pool may name the same conversation and mean two.
  return hashOf(`${pool.id}\n${key.id}\n${model.id}\n${cacheKey}`);
}
