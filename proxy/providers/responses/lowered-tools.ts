// The tools of a turn for an account that takes only functions, or that lacks some of the hosted tools (AA19, AA20, AA27).
import type { ItemPlaces } from '../../turn/errors/item-places.ts';
import { asList, isList, isObject, type Json, type JsonObject, mapList } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { Adaptations } from '../../turn/provider/adapted.ts';
import type { ApiAccountConfig } from '../../turn/provider/api-account.ts';
import type { Body } from '../../turn/turn.ts';
import { runs } from '../api-accounts/eligibility/lacks.ts';
import { hostedTool } from '../api-accounts/eligibility/needed-tools.ts';
import { hostingOf, withoutHostedCalls } from '../api-accounts/hosted-calls.ts';
import { functionCall, functionOutput } from '../api-accounts/tools/lowered-calls.ts';
import { type FunctionTool, type ToolTable, toolTable } from '../api-accounts/tools/tool-table.ts';

export interface ToolOptions {
  readonly account: ApiAccountConfig;
  readonly model: AccountModel | undefined;
  readonly adapted: Adaptations;
  readonly places: ItemPlaces | undefined;
}

/** @param body the turn with joined tools @returns a new body */
export function fittedTools(body: Body, options: ToolOptions): Body {
  const { account, model, adapted, places } = options;
  const { quirks } = account;
  const hosting = hostingOf(account, model);
  const items = typeof body.input === 'string' ? body.input : withoutHostedCalls(asList(body.input), hosting, { adapted, places });
  const tools = asList(body.tools).filter((tool) => !isLeftOut(tool, options));
  const kept: Body = { ...body, input: items, tools, tool_choice: permittedChoice(body.tool_choice, options) };
  if (quirks.tools !== 'all') return lowered(kept, options);
  return { ...kept, tools: mapList(tools, (tool) => fitted(tool, options)), tool_choice: choiceOfChildren(kept, options) };
}

/**
 * The choice without namespaces. The public API has no choice of a namespace, so its tools are chosen, by their own names (F5.3, AA28). A
 * server that takes no named choice gets the namespace alone.
 */
function choiceOfChildren({ tools, tool_choice: choice }: Body, { account: { quirks }, adapted }: ToolOptions): Json | undefined {
  if (!isObject(choice) || !(quirks.tool_choice_named && quirks.tool_choice_required)) return choice;
  const chosen = choice.type === 'allowed_tools' ? asList(choice.tools) : [choice];
  if (!chosen.some(isNamespace)) return choice;
  adapted.note('tool_choice');
  const children = chosen.flatMap((one): readonly Json[] => (isNamespace(one) ? childrenIn(asList(tools), one.name) : [one]));
  if (choice.type === 'allowed_tools') return { ...choice, tools: children };
  const [first, ...others] = children;
  return others.length === 0 ? first : { type: 'allowed_tools', mode: 'required', tools: children };
}

const isNamespace = (tool: Json): tool is JsonObject => isObject(tool) && tool.type === 'namespace';

/** The tools of a namespace in the form of a choice. */
const childrenIn = (tools: readonly Json[], name: Json | undefined): readonly JsonObject[] =>
  tools
    .filter(isNamespace)
    .filter((space) => space.name === name)
    .flatMap((space) => asList(space.tools))
    .flatMap((child) => (isObject(child) ? [{ type: child.type ?? null, name: child.name ?? null }] : []));

function isLeftOut(tool: Json, { account, adapted }: ToolOptions): boolean {
  const hosted = isObject(tool) ? hostedTool(tool) : undefined;
  if (hosted === undefined || runs(account, hosted)) return false;
  adapted.note(`tools.${hosted}`);
  return true;
}

/** The choice without tools that are left out. A list of allowed tools of which none is left allows no call. */
function permittedChoice(choice: Json | undefined, options: ToolOptions): Json | undefined {
  if (!isObject(choice) || choice.type !== 'allowed_tools') return choice;
  const allowed = asList(choice.tools);
  const left = allowed.filter((tool) => !isLeftOut(tool, options));
  if (left.length === allowed.length) return choice;
  options.adapted.note('tool_choice');
  return left.length === 0 ? 'none' : { ...choice, tools: left };
}

/** Whether the account takes a tool unchanged. */
const isFlat = (tool: Json): boolean => isObject(tool) && (tool.type === 'function' || hostedTool(tool) !== undefined);

/** The types of items that occur only in turns whose tools are replaced with functions. */
const LOWERED: ReadonlySet<Json | undefined> = new Set([
  'custom_tool_call',
  'custom_tool_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'tool_search_call',
  'tool_search_output',
]);

const isLowered = (item: Json): item is JsonObject =>
  isObject(item) && (LOWERED.has(item.type) || (item.type === 'function_call' && typeof item.namespace === 'string'));

function lowered(body: Body, options: ToolOptions): Body {
  const [tools, input] = [asList(body.tools), asList(body.input)];
  const hasLowered = input.some(isLowered);
  if (!hasLowered && tools.every(isFlat)) return { ...body, tools: mapList(tools, (tool) => fitted(tool, options)) };
  const table = toolTable(body, options.adapted);
  const functions = table.functions.map((tool) => fitted(asTool(tool), options));
  return {
    ...body,
    tools: [...functions, ...table.hosted],
    tool_choice: choiceAmong(table, body.tool_choice),
    input: hasLowered ? input.map((item) => (isLowered(item) ? asFunctionItem(item, table, options) : item)) : body.input,
  };
}

const asTool = ({ name, description, parameters, strict }: FunctionTool): JsonObject => ({
  type: 'function',
  name,
  ...(description === undefined ? {} : { description }),
  parameters,
  strict: strict ?? false,
});

/** A tool of the client in the form that the account's quirks demand, also within a namespace. */
function fitted(tool: Json, options: ToolOptions): Json {
  if (!isObject(tool)) return tool;
  if (tool.type === 'namespace' && isList(tool.tools)) {
    const tools = mapList(tool.tools, (child) => fitted(child, options));
    return tools === tool.tools ? tool : { ...tool, tools };
  }
  return tool.type === 'function' || tool.type === 'custom' ? fittedTool(tool, options) : tool;
}

function fittedTool(tool: JsonObject, { account: { quirks }, adapted }: ToolOptions): JsonObject {
  const { strict, description, ...rest } = tool;
  const isNamed = quirks.tool_description === 'required' && (typeof description !== 'string' || description === '');
  if (!isNamed && (quirks.strict || strict === undefined)) return tool;
  if (isNamed) adapted.note('tools.description');
  if (!quirks.strict && strict !== undefined) adapted.note('tools.strict');
  return {
    ...rest,
    ...(isNamed ? { description: rest.name } : description === undefined ? {} : { description }),
    ...(quirks.strict && strict !== undefined ? { strict } : {}),
  };
}

function asFunctionItem(item: JsonObject, table: ToolTable, { adapted }: ToolOptions): Json {
  const call = functionCall(item, table, adapted);
  if (call) return { type: 'function_call', call_id: call.id, name: call.name, arguments: call.arguments };
  const output = functionOutput(item);
  return output ? { type: 'function_call_output', call_id: output.id, output: output.output } : item;
}

/** The choice under the names of the functions. A namespace is chosen as the functions of all its children. */
function choiceAmong(table: ToolTable, choice: Json | undefined): Json | undefined {
  if (!isObject(choice)) return choice;
  if (choice.type === 'allowed_tools') return { ...choice, tools: asList(choice.tools).flatMap((tool) => chosen(table, tool)) };
  const [first, ...others] = chosen(table, choice);
  return others.length === 0 ? first : { type: 'allowed_tools', mode: 'required', tools: [first ?? null, ...others] };
}

/** The functions that a choice names. A tool of the provider's own has none, and is chosen as it is. */
function chosen(table: ToolTable, choice: Json): readonly Json[] {
  const names = isObject(choice) ? table.namesOf(choice) : [];
  return names.length === 0 ? [choice] : names.map((name) => ({ type: 'function', name }));
}
