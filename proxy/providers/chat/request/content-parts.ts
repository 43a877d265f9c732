// The content of messages and tool outputs in Chat: texts, and the images, files and audio that the account's model takes (AA40, AA43).
import { isList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { PLACEHOLDERS } from '../../api-accounts/untaken-inputs.ts';
import type { ChatEncoding } from './encoding.ts';

/** A part of a message in Chat. */
export type ChatPart = JsonObject & { readonly type: 'text' | 'image_url' | 'file' | 'input_audio' };

export class Content {
  readonly #encoding: ChatEncoding;

  constructor(encoding: ChatEncoding) {
    this.#encoding = encoding;
  }

  /** The parts of a content. A string is one part, and empty texts are left out. */
  parts(content: Json | undefined): readonly ChatPart[] {
    if (typeof content === 'string') return textParts(content);
    if (!isList(content)) return [];
    return content.flatMap((part) => (isObject(part) ? this.#part(part) : unknownPart()));
  }

  /** The texts of a content. */
  text(content: Json | undefined): string {
    return joinedTexts(this.parts(content));
  }

  /** The parts as the content of a user message; undefined if there are none. */
  user(parts: readonly ChatPart[]): Json | undefined {
    const [first, second] = parts;
    if (first === undefined) return undefined;
    if (second === undefined && first.type === 'text') return first.text;
    if (this.#encoding.quirks.content === 'parts' || parts.some(({ type }) => type !== 'text')) return parts;
    this.#encoding.adapted.note('input.message.content');
    return joinedTexts(parts);
  }

  #part(part: JsonObject): readonly ChatPart[] {
    switch (part.type) {
      case 'input_text':
      case 'output_text':
      case 'text':
      case 'summary_text':
      case 'reasoning_text':
        return typeof part.text === 'string' ? textParts(part.text) : [];
      case 'refusal':
        return typeof part.refusal === 'string' ? textParts(part.refusal) : [];
      case 'input_image':
        return [this.#image(part)];
      case 'input_file':
        return [this.#file(part)];
      case 'input_audio':
        return [this.#audio(part)];
      default:
        return unknownPart();
    }
  }

  #image({ image_url: url, detail }: JsonObject): ChatPart {
    const { images } = this.#encoding.quirks;
    const isTaken = this.#takes('image') && images !== 'none' && typeof url === 'string' && (images === 'any' || url.startsWith('data:'));
    if (!isTaken) return this.#replaced('image');
    return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' ? { detail } : {}) } };
  }

  #file({ filename, file_data }: JsonObject): ChatPart {
    const isTaken = this.#takes('file') && this.#encoding.quirks.files !== 'none' && typeof file_data === 'string';
    if (!isTaken) return this.#replaced('file');
    return { type: 'file', file: { ...(typeof filename === 'string' ? { filename } : {}), file_data } };
  }

  #audio(part: JsonObject): ChatPart {
    const { data, format } = isObject(part.input_audio) ? part.input_audio : part;
    if (!this.#takes('audio') || this.#encoding.quirks.audio === 'none') return this.#replaced('audio');
    return { type: 'input_audio', input_audio: { data, format } };
  }

  #takes(modality: 'image' | 'file' | 'audio'): boolean {
    return this.#encoding.model?.modalities.includes(modality) ?? false;
  }

  #replaced(kind: keyof typeof PLACEHOLDERS): ChatPart {
    this.#encoding.adapted.note(`input.input_${kind}`);
    return { type: 'text', text: PLACEHOLDERS[kind] };
  }
}

const textParts = (text: string): readonly ChatPart[] => (text === '' ? [] : [{ type: 'text', text }]);

const unknownPart = (): never => {
  throw new Error('a content part of an unknown type has no form in Chat');
};

/** The texts of the parts, joined with a blank line. */
export const joinedTexts = (parts: readonly ChatPart[]): string =>
  parts.flatMap(({ type, text }) => (type === 'text' ? [String(text)] : [])).join('\n\n');
