// Writes a JSON object with the bytes of another one for all members that did not change, so that numbers keep their spelling (AA81).
import type { Json, JsonObject } from './json.ts';

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const OPENING: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d]);

/** @param text the bytes from which `json` was parsed @param changed an object in which some members of `json` were replaced */
export function withBytesOf(text: Buffer, json: JsonObject, changed: JsonObject): Buffer {
  const raw = rawMembers(text);
  const members = Object.entries(changed).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const own = json[name] === value ? raw.get(name) : undefined;
    return [Buffer.from(`${JSON.stringify(name)}:`), own ?? Buffer.from(JSON.stringify(value as Json)), Buffer.from(',')];
  });
  return Buffer.concat([Buffer.from('{'), ...members.slice(0, -1), Buffer.from('}')]);
}

/** The bytes of an object's values by name. If a name occurs twice the last value counts, as in a parser. */
function rawMembers(text: Buffer): ReadonlyMap<string, Buffer> {
  const found = new Map<string, Buffer>();
  let depth = 0;
  let name: string | undefined;
  let start = -1;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number;
    if (byte === QUOTE) {
      const end = endOfString(text, at);
      if (depth === 1 && name === undefined) name = JSON.parse(text.toString('utf8', at, end)) as string;
      at = end - 1;
    } else if (depth === 1 && byte === COLON && start < 0) start = at + 1;
    else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte) || (byte === COMMA && depth === 1)) {
      if (CLOSING.has(byte)) depth -= 1;
      if (depth > 1 || (depth === 1 && byte !== COMMA) || name === undefined) continue;
      found.set(name, text.subarray(start, at));
      name = undefined;
      start = -1;
    }
  }
  return found;
}

/** The place after the closing quote. */
function endOfString(text: Buffer, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}
