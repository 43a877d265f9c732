// Only the gateway sets the Lite marker: a client's is removed, and ours is added to each attempt in Lite (F2.1 to F2.4).

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isObject } from '../../proxy/turn/json.ts';
import { rule, SKIP } from '../../proxy/turn/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { explainInMode } from '../helpers/explain.ts';
import { RESPONSES_WORK } from '../route-groups.ts';

/** The prefix of a request header among the `client_metadata` of a websocket frame. */
const METADATA_PREFIX = 'ws_request_header_';

/** Proxies on the way may treat these spellings as the same header: lower case, with `_` for `-`. */
const normalised = (name: string): string => name.toLowerCase().replaceAll('-', '_');

/** On every route, since native routes forward header families that the marker may belong to; removed from replies as well. */
export const markerHeader = rule({
  name: 'marker-header',
  routes: '*',
  attempt: (out, _memory, turn) => deleteMarker(out.headers, turn),
  head: (head, _memory, turn) => {
    deleteMarker(head.headers, turn);
    return undefined;
  },
});

/** The carrier decides where the marker goes, not the client's connection: a websocket turn may go out over HTTP (Q28). */
export const liteMarker = rule({
  name: 'lite-marker',
  routes: RESPONSES_WORK,
  request({ body }, turn) {
    if (isObject(body.client_metadata)) body.client_metadata = withoutMarker(body.client_metadata, turn);
    return turn.model?.mode?.effective === 'lite' ? undefined : SKIP;
  },
  attempt(out, _memory, turn) {
    const marker = turn.wire.lite_marker.toLowerCase();
    if (out.carrier === 'http') out.headers[marker] = 'true';
    else out.body.client_metadata = { ...objectOr(out.body.client_metadata), [METADATA_PREFIX + normalised(marker)]: 'true' };
  },
  explain: explainInMode('lite', 'adds the marker'),
});

function deleteMarker(headers: Record<string, string>, turn: Turn): void {
  const marker = turn.wire.lite_marker;
  for (const name in headers) if (name.length === marker.length && normalised(name) === normalised(marker)) delete headers[name];
}

/** The same object where no entry is a marker; `client_metadata` itself stays even if it is empty then. */
function withoutMarker(metadata: JsonObject, turn: Turn): JsonObject {
  const { lite_marker } = turn.wire;
  const isMarker = (name: string): boolean => {
    // Most names are shorter.
    if (name.length < lite_marker.length) return false;
    const marker = normalised(lite_marker);
    return [marker, METADATA_PREFIX + marker].includes(normalised(name));
  };
  if (!Object.keys(metadata).some(isMarker)) return metadata;
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !isMarker(name)));
}

const objectOr = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
