// Checks that input audio is well-formed, of a known format, and not too large: the ceiling is that of the turn (F1.2, Q24, Q33).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { COMPATIBLE_TURNS } from '../route-groups.ts';

const FORMATS: ReadonlySet<Json | undefined> = new Set(['wav', 'mp3', 'm4a', 'webm', 'ogg']);

export const audio = rule({
  name: 'audio',
  routes: COMPATIBLE_TURNS,
  request({ body }, { limits }) {
    let left = limits.audio_bytes;
    for (const { part, path } of audioParts(body.input)) {
      const at = `${path}.input_audio`;
      const bytes = bytesOf(part.input_audio, at, left);
      if (bytes > left) throw invalidRequest(`${at}.data`, `brings the decoded audio to more than ${limits.audio_bytes} bytes`);
      left -= bytes;
    }
  },
});

function* audioParts(messages: Json | undefined): Generator<{ readonly part: JsonObject; readonly path: string }> {
  if (!isList(messages)) return;
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i];
    if (!isObject(message) || !isList(message.content)) continue;
    for (const [j, part] of message.content.entries()) {
      if (isObject(part) && part.type === 'input_audio') yield { part, path: `input.${i}.content.${j}` };
    }
  }
}

/** The decoded bytes. Audio of more than `limit` bytes is not read at all. @throws Refusal if the audio is malformed */
function bytesOf(value: Json | undefined, path: string, limit: number): number {
  if (!isObject(value)) throw invalidRequest(path, 'must be an object with data and format');
  const { data, format } = value;
  if (!FORMATS.has(format)) throw invalidRequest(`${path}.format`, 'must be wav, mp3, m4a, webm or ogg');
  const bytes = typeof data === 'string' ? decodedBytes(data, limit) : undefined;
  if (bytes === undefined) throw invalidRequest(`${path}.data`, 'must be standard base64 with padding');
  return bytes;
}

/**
 * The number of bytes; undefined if the text is not standard base64 with padding. A text of more than `limit` bytes is measured by its
 * length and not checked, because the caller refuses it for its size.
 */
export function decodedBytes(text: string, limit: number): number | undefined {
  if (text.length === 0 || text.length % 4 !== 0) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const bytes = (text.length / 4) * 3 - padding;
  if (bytes > limit) return bytes;
  const end = text.search(/[^A-Za-z0-9+/]/);
  return end === (padding > 0 ? text.length - padding : -1) ? bytes : undefined;
}
