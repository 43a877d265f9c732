// Removes `detail` from input images, which Lite does not accept (F2.9).
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import { isAbsent, isList, isObject, mapList, mapMembers } from '../../proxy/turn/json/json.ts';

/** The compatible surface accepts messages without a type; native items without a type stay unchanged (Q33). */
export type MessageTyping = 'untyped-messages-too' | 'typed-messages-only';

/** Returns the same list if nothing was removed. */
export const withoutImageDetail = (input: readonly Json[], typing: MessageTyping): readonly Json[] =>
  mapList(input, (item) => {
    if (!isObject(item)) return item;
    const member = contentMember(item, typing);
    const content = member === undefined ? undefined : item[member];
    if (member === undefined || content === undefined) return item;
    const stripped = stripImages(content);
    return stripped === content ? item : { ...item, [member]: stripped };
  });

/** The member in which an item of this type holds content parts; other items are not searched. */
function contentMember(item: JsonObject, typing: MessageTyping): 'content' | 'output' | undefined {
  if (item.type === 'message') return 'content';
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') return 'output';
  return isAbsent(item.type) && typing === 'untyped-messages-too' ? 'content' : undefined;
}

/** Removes `detail` at any depth of the content (Q33). The depth of a body is bounded before rules get it, so that recursion is safe. */
function stripImages(value: Json): Json {
  if (isList(value)) return mapList(value, stripImages);
  if (!isObject(value)) return value;
  if (value.type !== 'input_image') return mapMembers(value, stripImages);
  if (value.detail === undefined) return value;
  const { detail: _, ...image } = value;
  return image;
}
