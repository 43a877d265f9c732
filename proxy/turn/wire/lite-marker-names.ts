// The names of the Lite marker, and its removal from what a provider answers (F2.3).
import { isList, isObject, type Json, type JsonObject, mapList } from '../json/json.ts';
import type { WireWords } from '../settings.ts';

/** The prefix of a request header among the `client_metadata` of a websocket frame. */
export const METADATA_PREFIX = 'ws_request_header_';

/** A name in lower case with `_` replaced by `-`, because proxies on the way may treat these spellings as the same header. */
export const normalised = (name: string): string => name.toLowerCase().replaceAll('-', '_');

/** Whether a member is the marker, in any spelling. It may be the header, or an entry in the metadata of a frame. */
export function isMarker(name: string, { lite_marker }: WireWords): boolean {
  // A fast check, because most names are shorter.
  if (name.length < lite_marker.length) return false;
  const marker = normalised(lite_marker);
  const given = normalised(name);
  return given === marker || given === METADATA_PREFIX + marker;
}

/**
 * Members that contain the work itself. They are not searched, because they may be large and their names belong to the model or the client.
 */
const WORK = new Set(['output', 'input', 'tools', 'data', 'b64_json']);

/** The depth to which a provider's statement is searched. Real statements are less deep. */
const MAX_DEPTH = 8;

/** A provider's statement without the marker at any depth. Returns the same object if it has no marker. */
export function withoutMarker(stated: JsonObject, wire: WireWords): JsonObject {
  return searched(stated, wire, 0) as JsonObject;
}

function searched(value: Json, wire: WireWords, depth: number): Json {
  if (depth > MAX_DEPTH) return value;
  if (isList(value)) return mapList(value, (item) => searched(item, wire, depth + 1));
  if (!isObject(value)) return value;
  let changed: Record<string, Json | undefined> | undefined;
  for (const name in value) {
    const member = value[name];
    if (isMarker(name, wire)) {
      changed ??= { ...value };
      delete changed[name];
    } else if (typeof member === 'object' && member !== null && !WORK.has(name)) {
      const kept = searched(member, wire, depth + 1);
      if (kept === member) continue;
      changed ??= { ...value };
      changed[name] = kept;
    }
  }
  return (changed as JsonObject | undefined) ?? value;
}
