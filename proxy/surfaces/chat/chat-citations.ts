// The citations of addresses in a reply, in the form of Chat. Their places are places in the whole content (D4).
import { asList, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';

/** The citations of addresses in one or more messages, and the length of their content, in characters. */
interface Citations {
  readonly annotations: readonly JsonObject[];
  readonly length: number;
}

/**
 * The citations of a message. In Chat their places are places in the whole content.
 * @param before the length of the content before the message
 */
export function citationsIn({ content }: JsonObject, before: number): Citations {
  const annotations: JsonObject[] = [];
  let length = before;
  for (const part of asList(content)) {
    if (!isObject(part) || part.type !== 'output_text' || typeof part.text !== 'string') continue;
    for (const one of asList(part.annotations)) if (isObject(one)) annotations.push(...citation(one, length));
    length += part.text.length;
  }
  return { annotations, length };
}

function citation({ type, url, title, start_index: start, end_index: end }: JsonObject, shift: number): JsonObject[] {
  if (type !== 'url_citation' || typeof url !== 'string') return [];
  const at = (index: Json | undefined): number => shift + (typeof index === 'number' ? index : 0);
  return [{ type, url_citation: { start_index: at(start), end_index: at(end), title: title ?? '', url } }];
}

/** The citations of all messages of a completion. */
export function annotationsOf(messages: readonly JsonObject[]): readonly JsonObject[] {
  let length = 0;
  return messages.flatMap((message) => {
    const cited = citationsIn(message, length);
    length = cited.length;
    return cited.annotations;
  });
}
