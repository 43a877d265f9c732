// The Lite marker is the gateway's word alone: a client's never travels, ours is added per attempt (F2.1 to F2.4).

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isObject } from '../../proxy/turn/json.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { rule, SKIP } from '../rule.ts';

/** How a websocket frame spells a request header among its `client_metadata`. */
const METADATA_PREFIX = 'ws_request_header_';

/** Header names are compared as proxies on the way might: in lower case, with `_` for `-`. */
const spelled = (name: string): string => name.toLowerCase().replaceAll('-', '_');

/** On every route, because native pass-through forwards header families that the marker may belong to; never to a client either. */
export const markerHeader = rule({
  name: 'marker-header',
  routes: '*',
  attempt: (out, _memory, turn) => dropMarker(out.headers, turn),
  head: (head, _memory, turn) => {
    dropMarker(head.headers, turn);
    return undefined;
  },
});

/** The carrier says where ours goes, not the client's connection: a websocket turn may go out over HTTP (Q28). */
export const liteMarker = rule({
  name: 'lite-marker',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request({ body }, turn) {
    if (isObject(body.client_metadata)) body.client_metadata = withoutMarker(body.client_metadata, turn);
    return turn.model?.mode?.effective === 'lite' ? undefined : SKIP;
  },
  attempt(out, _memory, turn) {
    const marker = turn.wire.lite_marker.toLowerCase();
    if (out.carrier === 'http') out.headers[marker] = 'true';
    else out.body.client_metadata = { ...objectOr(out.body.client_metadata), [METADATA_PREFIX + spelled(marker)]: 'true' };
  },
});

function dropMarker(headers: Record<string, string>, turn: Turn): void {
  const marker = turn.wire.lite_marker;
  for (const name in headers) if (name.length === marker.length && spelled(name) === spelled(marker)) delete headers[name];
}

/** The same object where no entry is a marker; one that is emptied stays, since the client sent one. */
function withoutMarker(metadata: JsonObject, turn: Turn): JsonObject {
  const marker = spelled(turn.wire.lite_marker);
  const isMarker = (name: string): boolean => name.length >= marker.length && [marker, METADATA_PREFIX + marker].includes(spelled(name));
  if (!Object.keys(metadata).some(isMarker)) return metadata;
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !isMarker(name)));
}

const objectOr = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
