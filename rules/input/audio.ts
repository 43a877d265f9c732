// Audio in a message is well-formed, of a known format, and not too large (F1.2, Q24, Q33).
import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject } from '../../proxy/turn/json.ts';
import { invalid } from '../invalid.ts';
import { rule } from '../rule.ts';
import { decodedBytes } from './base64.ts';

const FORMATS: ReadonlySet<Json | undefined> = new Set(['wav', 'mp3', 'm4a', 'webm', 'ogg']);

/** Chat messages have the same parts and are checked as the client wrote them: on that route before their translation. */
export const audio = rule({
  name: 'audio',
  routes: ['public-responses', 'chat'],
  request({ body }, { route, limits }) {
    const member = route.kind === 'chat' ? 'messages' : 'input';
    for (const { part, path } of audioParts(body[member], member)) refuseAudio(part.input_audio, `${path}.input_audio`, limits.audio_bytes);
    return undefined;
  },
});

function* audioParts(messages: Json | undefined, member: string): Generator<{ readonly part: JsonObject; readonly path: string }> {
  if (!isList(messages)) return;
  for (const [i, message] of messages.entries()) {
    if (!isObject(message) || !isList(message.content)) continue;
    for (const [j, part] of message.content.entries()) {
      if (isObject(part) && part.type === 'input_audio') yield { part, path: `${member}.${i}.content.${j}` };
    }
  }
}

/** The size comes first: what is too large is not read at all. */
function refuseAudio(value: Json | undefined, path: string, limit: number): void {
  if (!isObject(value)) throw invalid(path, 'must be an object with data and format');
  const { data, format } = value;
  if (!FORMATS.has(format)) throw invalid(`${path}.format`, 'must be wav, mp3, m4a, webm or ogg');
  const size = typeof data === 'string' ? decodedBytes(data, limit) : undefined;
  if (size === undefined) throw invalid(`${path}.data`, 'must be standard base64 with padding');
  if (size > limit) throw invalid(`${path}.data`, `decodes to more than ${limit} bytes`);
}
