// The tools that a request declares: at the top level, in `additional_tools` input items, and in namespaces of both.
import { isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';

export interface ToolList {
  /** The path of the list: `tools`, or `input.0.tools`. */
  readonly path: string;
  readonly tools: readonly Json[];
}

export class DeclaredTool {
  readonly tool: Json;
  /** The namespace that declares it; undefined for a flat tool. */
  readonly namespace: JsonObject | undefined;
  readonly #list: string;
  readonly #at: number;
  readonly #within: number | undefined;

  constructor(tool: Json, { path }: ToolList, at: number, namespace?: JsonObject, within?: number) {
    this.tool = tool;
    this.namespace = namespace;
    this.#list = path;
    this.#at = at;
    this.#within = within;
  }

  /**
   * The path of the tool: `tools.3`, `tools.3.tools.0`, or the same under an input item. Built on demand, because only refusals need it.
   */
  get path(): string {
    return `${this.#list}.${this.#at}${this.#within === undefined ? '' : `.tools.${this.#within}`}`;
  }
}

export function toolLists({ tools, input }: Body): readonly ToolList[] {
  const lists: ToolList[] = isList(tools) ? [{ path: 'tools', tools }] : [];
  if (!isList(input)) return lists;
  for (let i = 0; i < input.length; i++) {
    const item = input[i];
    if (isObject(item) && item.type === 'additional_tools' && isList(item.tools))
      lists.push({ path: `input.${i}.tools`, tools: item.tools });
  }
  return lists;
}

/** The tools in the order of the document, a namespace before its children. Namespaces do not nest: deeper lists declare no tools. */
export function toolsIn(list: ToolList, declared: DeclaredTool[] = []): readonly DeclaredTool[] {
  for (const [at, tool] of list.tools.entries()) {
    declared.push(new DeclaredTool(tool, list, at));
    if (!isNamespace(tool) || !isList(tool.tools)) continue;
    for (const [within, child] of tool.tools.entries()) declared.push(new DeclaredTool(child, list, at, tool, within));
  }
  return declared;
}

export function declaredTools(body: Body): readonly DeclaredTool[] {
  const declared: DeclaredTool[] = [];
  for (const list of toolLists(body)) toolsIn(list, declared);
  return declared;
}

export function isNamespace(tool: Json): tool is JsonObject {
  return isObject(tool) && tool.type === 'namespace';
}
