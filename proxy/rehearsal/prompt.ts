// Reading a turn's request: what the user said last, what came after it, and which tools were declared.
import type { Json, JsonObject } from '../turn/json.ts';
import { isObject } from '../turn/json.ts';
import { listOf, textOf } from './reading.ts';

export interface DeclaredTool {
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly namespace: string | undefined;
  /** The schema of a function tool. */
  readonly parameters: Json | undefined;
}

export interface Prompt {
  readonly body: JsonObject;
  readonly input: readonly Json[];
  /** The text of the last user message; empty when there is none. */
  readonly said: string;
  /** What a tool answered after the last user message, when its output is the last item. */
  readonly toolOutput: string | undefined;
  /** The last item is a compaction trigger. */
  readonly wantsCompaction: boolean;
  /** Top-level tools and those of `additional_tools` items, children of namespaces among them. */
  readonly tools: readonly DeclaredTool[];
}

export function promptOf(body: JsonObject): Prompt {
  const input: readonly Json[] = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : listOf(body.input);
  const last = input.at(-1);
  return {
    body,
    input,
    said: lastUserText(input),
    toolOutput: isObject(last) && /_output$/.test(textOf(last.type) ?? '') ? contentText(last.output) : undefined,
    wantsCompaction: endsInTrigger(input),
    tools: declaredTools(body, input),
  };
}

/** Whether the turn asks for compaction. */
export function endsInTrigger(input: readonly Json[]): boolean {
  const last = input.at(-1);
  return isObject(last) && last.type === 'compaction_trigger';
}

/** Every list of tools that the request holds, with the path that leads to it. */
export function toolLists(body: JsonObject, input: readonly Json[]): readonly { readonly path: string; readonly tools: readonly Json[] }[] {
  const lists = [{ path: 'tools', tools: listOf(body.tools) }];
  for (const [i, item] of input.entries()) {
    if (isObject(item) && item.type === 'additional_tools') lists.push({ path: `input.${i}.tools`, tools: listOf(item.tools) });
  }
  return lists;
}

function declaredTools(body: JsonObject, input: readonly Json[]): readonly DeclaredTool[] {
  return toolLists(body, input).flatMap(({ tools }) => tools.flatMap((tool) => readTool(tool, undefined)));
}

function readTool(tool: Json, namespace: string | undefined): readonly DeclaredTool[] {
  if (!isObject(tool)) return [];
  const name = textOf(tool.name);
  if (name === undefined) return [];
  if (tool.type === 'namespace') return listOf(tool.tools).flatMap((child) => readTool(child, name));
  if (tool.type !== 'function' && tool.type !== 'custom') return [];
  return [{ kind: tool.type, name, namespace, parameters: tool.parameters }];
}

function lastUserText(input: readonly Json[]): string {
  const message = input.findLast((item) => isObject(item) && item.role === 'user' && (item.type ?? 'message') === 'message');
  return isObject(message) ? contentText(message.content) : '';
}

/** The text of a content: a string, or its text parts. */
function contentText(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => (isObject(part) ? textOf(part.text) : undefined))
    .filter((text) => text !== undefined)
    .join('\n');
}
