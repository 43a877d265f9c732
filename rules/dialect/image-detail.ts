// Lite takes no `detail` on input images (F2.9); where none stands, the very same list comes back.
import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject, mapList, mapMembers } from '../../proxy/turn/json.ts';

/** Whether a message may go without its type: only on the compatible surface; native ones without it stay as they are (Q33). */
export type Untyped = 'untyped-messages-too' | 'typed-messages-only';

export const withoutImageDetail = (input: readonly Json[], untyped: Untyped): readonly Json[] =>
  mapList(input, (item) => {
    if (!isObject(item)) return item;
    const member = contentMember(item, untyped);
    const content = member === undefined ? undefined : item[member];
    if (member === undefined || content === undefined) return item;
    const stripped = stripImages(content);
    return stripped === content ? item : { ...item, [member]: stripped };
  });

/** Where an item of this type holds content parts; other items are never looked into. */
function contentMember(item: JsonObject, untyped: Untyped): 'content' | 'output' | undefined {
  if (item.type === 'message') return 'content';
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') return 'output';
  return item.type === undefined && untyped === 'untyped-messages-too' ? 'content' : undefined;
}

/** At any nesting of the content (Q33). The depth of a body is bounded before rules see it, so recursion is safe. */
function stripImages(value: Json): Json {
  if (isList(value)) return mapList(value, stripImages);
  if (!isObject(value)) return value;
  if (value.type !== 'input_image') return mapMembers(value, stripImages);
  if (value.detail === undefined) return value;
  const { detail: _, ...image } = value;
  return image;
}
