// The request of a turn as the simulated model reads it: last user message, tool output, declared tools.
import { asList, asString, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';

export interface SimulatedTool {
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly namespace: string | undefined;
  /** The schema of a function tool. */
  readonly parameters: Json | undefined;
}

export interface TurnRequest {
  readonly body: JsonObject;
  readonly input: readonly Json[];
  /** The text of the last user message; empty if there is none. */
  readonly userText: string;
  /** The text of a tool's output, if it is the last item. */
  readonly toolOutput: string | undefined;
  readonly wantsCompaction: boolean;
  /** Top-level tools and those of `additional_tools` items, with the children of namespaces. */
  readonly tools: readonly SimulatedTool[];
  /** The declared image_generation tool. */
  readonly imageTool: JsonObject | undefined;
  /** Whether a web search is declared. */
  readonly searches: boolean;
}

export function readTurnRequest(body: JsonObject): TurnRequest {
  const input: readonly Json[] = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : asList(body.input);
  const last = input.at(-1);
  const declared = toolLists(body, input).flatMap(({ tools }) => tools.filter(isObject));
  return {
    body,
    input,
    userText: lastUserText(input),
    toolOutput: isObject(last) && /_output$/.test(asString(last.type) ?? '') ? contentText(last.output) : undefined,
    wantsCompaction: endsInTrigger(input),
    tools: declaredTools(body, input),
    imageTool: declared.find(({ type }) => type === 'image_generation'),
    searches: declared.some(({ type }) => type === 'web_search'),
  };
}

/** The responses of a websocket that a turn can continue, each with the items of its conversation that declare tools. */
export type Anchors = ReadonlyMap<string, readonly Json[]>;

/** The items that declare tools for a frame: those of the response that it continues, then its own. */
export function toolsItems({ input, previous_response_id: anchor }: JsonObject, anchors: Anchors): readonly Json[] {
  const earlier = anchors.get(asString(anchor) ?? '') ?? [];
  return [...earlier, ...asList(input).filter((item) => isObject(item) && item.type === 'additional_tools')];
}

/** Whether the last item is a compaction trigger. */
export function endsInTrigger(input: readonly Json[]): boolean {
  const last = input.at(-1);
  return isObject(last) && last.type === 'compaction_trigger';
}

/** Every list of tools in the request, with its path. */
export function toolLists(body: JsonObject, input: readonly Json[]): readonly { readonly path: string; readonly tools: readonly Json[] }[] {
  const lists = [{ path: 'tools', tools: asList(body.tools) }];
  for (const [i, item] of input.entries()) {
    if (isObject(item) && item.type === 'additional_tools') lists.push({ path: `input.${i}.tools`, tools: asList(item.tools) });
  }
  return lists;
}

function declaredTools(body: JsonObject, input: readonly Json[]): readonly SimulatedTool[] {
  return toolLists(body, input).flatMap(({ tools }) => tools.flatMap((tool) => readTool(tool, undefined)));
}

function readTool(tool: Json, namespace: string | undefined): readonly SimulatedTool[] {
  if (!isObject(tool)) return [];
  const name = asString(tool.name);
  if (name === undefined) return [];
  if (tool.type === 'namespace') return asList(tool.tools).flatMap((child) => readTool(child, name));
  if (tool.type !== 'function' && tool.type !== 'custom') return [];
  return [{ kind: tool.type, name, namespace, parameters: tool.parameters }];
}

function lastUserText(input: readonly Json[]): string {
  const message = input.findLast((item) => isObject(item) && item.role === 'user' && (item.type ?? 'message') === 'message');
  return isObject(message) ? contentText(message.content) : '';
}

/** The text of a content: the string itself, or the text parts of a list. */
export function contentText(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  return asList(content)
    .map((part) => (isObject(part) ? asString(part.text) : undefined))
    .filter((text) => text !== undefined)
    .join('\n');
}
