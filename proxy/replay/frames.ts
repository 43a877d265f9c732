// The frames and texts that both scripts of a replay read: which frames answer which, and their types.
import { isObject, type Json } from '../turn/json/json.ts';
import type { ReplayFrame } from './conversation.ts';

/** The account's frames between the frame at this index and the client's next one. */
export function repliesAfter(frames: readonly ReplayFrame[], at: number): readonly ReplayFrame[] {
  const rest = frames.slice(at + 1);
  const next = rest.findIndex(({ from }) => from === 'client');
  return next === -1 ? rest : rest.slice(0, next);
}

/** The `type` of an event or frame; empty if it has none. */
export const typeOf = (json: Json | undefined): string => (isObject(json) && typeof json.type === 'string' ? json.type : '');

/** The value of a text; the text itself if it is not JSON. */
export function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
