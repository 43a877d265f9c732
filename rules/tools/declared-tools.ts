// Where a request declares tools: at the top level, in `additional_tools` input items, and inside namespaces of both.
import type { Body, Json, JsonObject } from '../../proxy/turn.ts';
import { isList, isObject } from '../json.ts';

export interface ToolList {
  /** `tools`, or `input.0.tools`. */
  readonly path: string;
  readonly tools: readonly Json[];
}

export interface DeclaredTool {
  /** `tools.3`, `tools.3.tools.0`, or the same under an input item. */
  readonly path: string;
  readonly tool: Json;
  /** The namespace that it is a child of. */
  readonly namespace: JsonObject | undefined;
}

export function* toolLists(body: Body): Generator<ToolList> {
  if (isList(body.tools)) yield { path: 'tools', tools: body.tools };
  if (!isList(body.input)) return;
  for (const [i, item] of body.input.entries()) {
    if (isObject(item) && item.type === 'additional_tools' && isList(item.tools)) {
      yield { path: `input.${i}.tools`, tools: item.tools };
    }
  }
}

/** In the order of the document, a namespace before its children. Namespaces do not nest: what is deeper is nobody's tool. */
export function* toolsIn(list: ToolList): Generator<DeclaredTool> {
  for (const [i, tool] of list.tools.entries()) {
    const path = `${list.path}.${i}`;
    yield { path, tool, namespace: undefined };
    if (!isNamespace(tool) || !isList(tool.tools)) continue;
    for (const [j, child] of tool.tools.entries()) yield { path: `${path}.tools.${j}`, tool: child, namespace: tool };
  }
}

export function* declaredTools(body: Body): Generator<DeclaredTool> {
  for (const list of toolLists(body)) yield* toolsIn(list);
}

export function isNamespace(tool: Json): tool is JsonObject {
  return isObject(tool) && tool.type === 'namespace';
}
