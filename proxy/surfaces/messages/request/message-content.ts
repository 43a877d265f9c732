// Translates the blocks that a user's message or a tool result may have into parts of input items (AM28, AM30).
import { isAbsent, isText, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { blocksOf, malformed, objectAt, textAt } from './malformed.ts';

/** A part of an input item, with the place of the block it was made from. */
export interface Part {
  readonly part: JsonObject;
  readonly place: string;
}

const IMAGE_TYPES: ReadonlySet<Json | undefined> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

const textPart = (text: string): JsonObject => ({ type: 'input_text', text });

const joined = (lines: readonly (string | undefined)[]): string => lines.filter((line) => line !== undefined).join('\n');

/** The parts for a text, image, document or search result of a user or a tool; undefined for every other type. */
export function userParts(block: JsonObject, place: string): readonly Part[] | undefined {
  const parts = partsOf(block, place);
  // Empty text blocks are left out.
  return parts?.filter(({ type, text }) => type !== 'input_text' || text !== '').map((part) => ({ part, place }));
}

function partsOf(block: JsonObject, place: string): readonly JsonObject[] | undefined {
  switch (block.type) {
    case 'text':
      return [textPart(textAt(block.text, `${place}.text`))];
    case 'image':
      return [imagePart(objectAt(block.source, `${place}.source`), `${place}.source`)];
    case 'document':
      return documentParts(block, place);
    case 'search_result':
      return [textPart(searchResult(block, place))];
    default:
      return undefined;
  }
}

function imagePart({ type, media_type: media, data, url, file_id }: JsonObject, place: string): JsonObject {
  switch (type) {
    case 'base64':
      if (!IMAGE_TYPES.has(media)) throw malformed(`${place}.media_type`, 'must be image/jpeg, image/png, image/gif or image/webp');
      return { type: 'input_image', image_url: `data:${String(media)};base64,${textAt(data, `${place}.data`)}` };
    case 'url':
      return { type: 'input_image', image_url: textAt(url, `${place}.url`) };
    case 'file':
      return { type: 'input_image', file_id: textAt(file_id, `${place}.file_id`) };
    default:
      throw malformed(`${place}.type`, 'must be base64, url or file');
  }
}

function documentParts({ source: given, title, context }: JsonObject, place: string): readonly JsonObject[] {
  const source = objectAt(given, `${place}.source`);
  const at = `${place}.source`;
  switch (source.type) {
    case 'base64':
      if (source.media_type !== 'application/pdf') throw malformed(`${at}.media_type`, 'must be application/pdf');
      return [
        {
          type: 'input_file',
          filename: isText(title) ? title : 'document.pdf',
          file_data: `data:application/pdf;base64,${textAt(source.data, `${at}.data`)}`,
        },
      ];
    case 'url':
      return [{ type: 'input_file', file_url: textAt(source.url, `${at}.url`) }];
    case 'file':
      return [{ type: 'input_file', file_id: textAt(source.file_id, `${at}.file_id`) }];
    case 'text':
      return [...introduction(title, context), textPart(textAt(source.data, `${at}.data`))];
    case 'content':
      return [...introduction(title, context), ...blocksOf(source.content, `${at}.content`).flatMap(documentPart)];
    default:
      throw malformed(`${at}.type`, 'must be base64, text, content, url or file');
  }
}

function introduction(title: Json | undefined, context: Json | undefined): readonly JsonObject[] {
  const lines = [isText(title) ? `Document: ${title}` : undefined, isText(context) ? context : undefined];
  return [textPart(joined(lines))];
}

function documentPart([block, place]: readonly [JsonObject, string]): readonly JsonObject[] {
  const parts = block.type === 'text' || block.type === 'image' ? partsOf(block, place) : undefined;
  if (!parts) throw malformed(`${place}.type`, 'must be text or image');
  return parts;
}

function searchResult({ title, source, content }: JsonObject, place: string): string {
  const texts = blocksOf(content, `${place}.content`).map(([{ text }, at]) => textAt(text, `${at}.text`));
  return joined([textAt(title, `${place}.title`), textAt(source, `${place}.source`), '', texts.join('\n\n')]);
}

const ERROR_LINE = '[tool error]';

/** The output of a call, with the places of its parts. */
export interface ToolOutput {
  /** One text, or a list of parts if it contains more than texts. */
  readonly output: Json;
  /** Empty for one text. */
  readonly places: readonly string[];
}

/** @param referenced called with the names of tools that became available */
export function toolOutput({ content, is_error: failed }: JsonObject, place: string, referenced: (name: string) => void): ToolOutput {
  const parts = blocksOf(content, `${place}.content`).flatMap(([block, at]): readonly Part[] => {
    if (block.type === 'tool_reference') {
      const name = textAt(block.tool_name, `${at}.tool_name`);
      referenced(name);
      return [{ part: textPart(`Tool ${name} is available.`), place: at }];
    }
    const known = userParts(block, at);
    if (!known) throw malformed(`${at}.type`, 'must be text, image, document, search_result or tool_reference');
    return known;
  });
  if (!isAbsent(failed) && typeof failed !== 'boolean') throw malformed(`${place}.is_error`, 'must be a boolean');
  const texts = parts.flatMap(({ part: { type, text } }) => (type === 'input_text' ? [String(text)] : []));
  if (texts.length === parts.length) return { output: joined([failed === true ? ERROR_LINE : undefined, ...texts]), places: [] };
  const all = failed === true ? withErrorLine(parts, place) : parts;
  return { output: all.map(({ part }) => part), places: all.map((one) => one.place) };
}

/** The parts with the first line of a failure, in their first text or in one of its own. */
function withErrorLine(parts: readonly Part[], place: string): readonly Part[] {
  const [first, ...rest] = parts;
  if (first?.part.type !== 'input_text') return [{ part: textPart(ERROR_LINE), place }, ...parts];
  return [{ part: textPart(`${ERROR_LINE}\n${String(first.part.text)}`), place: first.place }, ...rest];
}
