// Sets the Lite marker: a client's own marker is removed, and the gateway's is added to each attempt in Lite (F2.1 to F2.4).
import { isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { isMarker, METADATA_PREFIX, normalised, withoutMarker } from '../../proxy/turn/wire/lite-marker-names.ts';
import { explainInMode } from '../helpers/explain.ts';
import { RESPONSES_WORK } from '../route-groups.ts';

/**
 * Applies to every route, because native routes forward header families that the marker may belong to. The marker is also removed from
 * replies: from their headers, and from the events that repeat headers.
 */
export const markerHeader = rule({
  name: 'marker-header',
  routes: '*',
  attempt: (out, _memory, turn) => deleteMarker(out.headers, turn),
  head: (head, _memory, turn) => {
    deleteMarker(head.headers, turn);
    return undefined;
  },
  events: ['response.metadata', 'agent.*'],
  event(event, _memory, { wire }) {
    const data = withoutMarker(event.data, wire);
    return data === event.data ? event : { ...event, data };
  },
});

/**
 * The carrier, and not the client's connection, decides about the place of the marker, because a websocket turn may be sent over HTTP
 * (Q28).
 */
export const liteMarker = rule({
  name: 'lite-marker',
  routes: RESPONSES_WORK,
  request({ body }, turn) {
    if (isObject(body.client_metadata)) body.client_metadata = withoutEntry(body.client_metadata, turn);
    return turn.model?.mode?.effective === 'lite' ? undefined : SKIP;
  },
  apis: ['agent'],
  attempt(out, _memory, turn) {
    const marker = turn.wire.lite_marker.toLowerCase();
    if (out.carrier === 'http') out.headers[marker] = 'true';
    else out.body.client_metadata = { ...objectOr(out.body.client_metadata), [METADATA_PREFIX + normalised(marker)]: 'true' };
  },
  explain: explainInMode('lite', 'adds the marker'),
});

function deleteMarker(headers: Record<string, string>, { wire }: Turn): void {
  for (const name in headers) if (isMarker(name, wire)) delete headers[name];
}

/** The metadata without markers; the same object if there is none. `client_metadata` itself stays even if it is empty then. */
function withoutEntry(metadata: JsonObject, { wire }: Turn): JsonObject {
  const entries = Object.entries(metadata);
  const kept = entries.filter(([name]) => !isMarker(name, wire));
  return kept.length === entries.length ? metadata : Object.fromEntries(kept);
}

const objectOr = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
