// Translates the content parts of Chat messages into parts of input items: text, images, audio, files, refusals (D4, Q24).
import { invalidRequest } from '../../turn/errors/invalid-request.ts';
import { isAbsent, isList, isObject, isText, type Json, type JsonObject } from '../../turn/json/json.ts';

/** Makes the part of an input item. @param path the path of the part, for refusals */
type Translation = (part: JsonObject, path: string) => JsonObject;

/** The types of parts that a message of a role may have. Content that is a string counts as one part of the type `text`. */
export type PartTypes = { readonly text: Translation } & Readonly<Partial<Record<string, Translation>>>;

export const TEXT_PARTS: PartTypes = { text: textPart('input_text') };

export const USER_PARTS: PartTypes = {
  text: TEXT_PARTS.text,
  image_url(part, path) {
    const { image_url: image } = part;
    const url = isObject(image) ? image.url : undefined;
    if (!isObject(image) || !isText(url)) throw invalidRequest(`${path}.image_url.url`, 'must be a non-blank string');
    return { type: 'input_image', image_url: url, ...(isAbsent(image.detail) ? {} : { detail: image.detail }) };
  },
  // Audio has the same form in both APIs. The rule `audio` has checked it.
  input_audio: ({ input_audio }) => ({ type: 'input_audio', input_audio }),
  file(part, path) {
    const { file } = part;
    if (!isObject(file)) throw invalidRequest(`${path}.file`, 'must be an object');
    const named: Record<string, Json> = {};
    for (const member of ['file_id', 'filename', 'file_data'] as const) {
      const value = file[member];
      if (isAbsent(value)) continue;
      if (!isText(value)) throw invalidRequest(`${path}.file.${member}`, 'must be a non-blank string');
      named[member] = value;
    }
    if (named.file_id === undefined && named.file_data === undefined) throw invalidRequest(`${path}.file`, 'needs file_id or file_data');
    return { type: 'input_file', ...named };
  },
};

export const ASSISTANT_PARTS: PartTypes = {
  text: textPart('output_text'),
  refusal({ refusal }, path) {
    if (typeof refusal !== 'string') throw invalidRequest(`${path}.refusal`, 'must be a string');
    return { type: 'refusal', refusal };
  },
};

export function contentParts(content: Json | undefined, path: string, types: PartTypes): readonly Json[] {
  if (typeof content === 'string') return [types.text({ text: content }, path)];
  if (!isList(content)) throw invalidRequest(path, 'must be a string or an array');
  return content.map((part, i) => {
    const at = `${path}.${i}`;
    if (!isObject(part)) throw invalidRequest(at, 'must be an object');
    const translate = typeof part.type === 'string' && Object.hasOwn(types, part.type) ? types[part.type] : undefined;
    if (!translate) throw invalidRequest(`${at}.type`, `must be ${Object.keys(types).join(', ')}`);
    return translate(part, at);
  });
}

function textPart(type: 'input_text' | 'output_text'): Translation {
  return ({ text }, path) => {
    if (typeof text !== 'string') throw invalidRequest(`${path}.text`, 'must be a string');
    return { type, text };
  };
}
