// The image_generation tool of a translated image request: at the top level in Full, inside the first input item in Lite.
import { asList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';

export const IMAGE_TOOL = 'image_generation';

/** The members of the body that hold the tool, with this model set in it. */
export function withImageModel({ tools, input }: Body, model: string): Body {
  if (tools !== undefined) return { tools: renamed(tools, model) };
  return { input: mapList(asList(input), (item) => (isObject(item) && item.tools !== undefined ? inItem(item, model) : item)) };
}

const inItem = (item: JsonObject, model: string): JsonObject => ({ ...item, tools: renamed(item.tools, model) });

const renamed = (tools: Json | undefined, model: string): readonly Json[] =>
  mapList(asList(tools), (tool) => (isObject(tool) && tool.type === IMAGE_TOOL ? { ...tool, model } : tool));
