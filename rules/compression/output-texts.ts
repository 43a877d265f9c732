// The texts of a tool output: a string, the text parts of a list, or what each command of a shell call printed.
import { isList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json/json.ts';

const TEXT_PARTS: ReadonlySet<Json | undefined> = new Set(['input_text', 'output_text', 'text']);
const PRINTED = ['stdout', 'stderr'] as const;

/** The texts in the order of the item. */
export function textsOf(item: JsonObject): readonly string[] {
  const texts: string[] = [];
  mapTexts(item, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/** @param texts one for each text of `textsOf` */
export function withTexts(item: JsonObject, texts: readonly string[]): JsonObject {
  let next = 0;
  return mapTexts(item, () => texts[next++] as string);
}

function mapTexts(item: JsonObject, change: (text: string) => string): JsonObject {
  const { output } = item;
  if (output === undefined) return item;
  const changed = mapOutput(output, change);
  return changed === output ? item : { ...item, output: changed };
}

function mapOutput(output: Json, change: (text: string) => string): Json {
  if (typeof output === 'string') return change(output);
  return isList(output) ? mapList(output, (part) => (isObject(part) ? mapPart(part, change) : part)) : output;
}

function mapPart(part: JsonObject, change: (text: string) => string): JsonObject {
  let mapped = part;
  for (const member of TEXT_PARTS.has(part.type) ? (['text'] as const) : PRINTED) {
    const before = part[member];
    if (typeof before !== 'string') continue;
    const after = change(before);
    if (after !== before) mapped = { ...mapped, [member]: after };
  }
  return mapped;
}
