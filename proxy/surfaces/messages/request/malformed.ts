// The refusal of a malformed member of a Messages request. It states the place of the member, never its text (AM11).
import { Refusal } from '../../../turn/errors/refusal.ts';
import { isAbsent, isList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';

/** @param place dotted, with indexes: `messages.0.content.1` @param what the end of the sentence that begins with the place */
export const malformed = (place: string, what: string): Refusal =>
  new Refusal('invalid_request', { param: place, message: `\`${place}\` ${what}` });

/** The refusal of a member that the gateway cannot honour. */
export const unsupported = (place: string): Refusal =>
  new Refusal('unsupported_parameter', { param: place, message: `\`${place}\` is not supported` });

export function objectAt(value: Json | undefined, place: string): JsonObject {
  if (!isObject(value)) throw malformed(place, 'must be an object');
  return value;
}

export function textAt(value: Json | undefined, place: string): string {
  if (typeof value !== 'string') throw malformed(place, 'must be a string');
  return value;
}

/** The blocks of a content, with their places. A string is one text block. */
export function blocksOf(content: Json | undefined, place: string): readonly (readonly [block: JsonObject, place: string])[] {
  if (typeof content === 'string') return [[{ type: 'text', text: content }, place]];
  if (isAbsent(content)) return [];
  if (!isList(content)) throw malformed(place, 'must be a string or an array');
  return content.map((block, i) => [objectAt(block, `${place}.${i}`), `${place}.${i}`]);
}
