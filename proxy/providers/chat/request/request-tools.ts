// The functions of a request and the choice among them, in the form of Chat (AA40).
import { asList, isAbsent, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { Adaptations } from '../../../turn/provider/adapted.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';
import { hostedTool } from '../../api-accounts/eligibility/needed-tools.ts';
import type { FunctionTool, ToolTable } from '../../api-accounts/tools/tool-table.ts';
import type { ChatEncoding } from './encoding.ts';

/** The members `tools`, `tool_choice` and `parallel_tool_calls`. Empty if no tool is sent. */
export function toolMembers(choice: Json | undefined, parallel: Json | undefined, encoding: ChatEncoding): JsonObject {
  const { tools, quirks, adapted } = encoding;
  for (const tool of tools.hosted) {
    const hosted = hostedTool(tool);
    if (hosted) adapted.note(`tools.${hosted}`);
  }
  const chosen = chosenTools(choice, tools, quirks, adapted);
  if (chosen.tools.length === 0) {
    if (!isAbsent(choice)) adapted.note('tool_choice');
    return {};
  }
  if (typeof parallel === 'boolean' && !quirks.parallel_tool_calls) adapted.note('parallel_tool_calls');
  return {
    tools: chosen.tools.map((tool) => chatTool(tool, encoding)),
    ...(chosen.choice === undefined ? {} : { tool_choice: chatChoice(chosen.choice) }),
    ...(typeof parallel === 'boolean' && quirks.parallel_tool_calls ? { parallel_tool_calls: parallel } : {}),
  };
}

const chatChoice = (choice: string | { readonly name: string }): Json =>
  typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };

function chatTool({ name, description, parameters, strict }: FunctionTool, { quirks, adapted }: ChatEncoding): JsonObject {
  const isNamed = description === undefined && quirks.tool_description === 'required';
  if (isNamed) adapted.note('tools.description');
  if (strict !== undefined && !quirks.strict) adapted.note('tools.strict');
  return {
    type: 'function',
    function: {
      name,
      ...(isNamed ? { description: name } : description === undefined ? {} : { description }),
      parameters,
      ...(strict !== undefined && quirks.strict ? { strict } : {}),
    },
  };
}

interface ChosenTools {
  readonly tools: readonly FunctionTool[];
  /** A word, or the function that must be called. Undefined if the request states no choice. */
  readonly choice: string | { readonly name: string } | undefined;
}

/** The functions that a `tool_choice` allows, and the choice among them (AA27, AA40). */
function chosenTools(
  choice: Json | undefined,
  tools: ToolTable,
  { tool_choice_named }: Pick<Quirks, 'tool_choice_named'>,
  adapted: Adaptations,
): ChosenTools {
  const { functions } = tools;
  if (!isObject(choice)) return { tools: functions, choice: typeof choice === 'string' ? choice : undefined };
  if (choice.type === 'allowed_tools') {
    adapted.note('tool_choice');
    const names = new Set(asList(choice.tools).flatMap((tool) => (isObject(tool) ? tools.namesOf(tool) : [])));
    return { tools: functions.filter(({ name }) => names.has(name)), choice: typeof choice.mode === 'string' ? choice.mode : 'auto' };
  }
  const names = tools.namesOf(choice);
  const [name] = names;
  if (name === undefined) return { tools: functions, choice: undefined };
  if (tool_choice_named && names.length === 1) return { tools: functions, choice: { name } };
  adapted.note('tool_choice');
  return { tools: functions.filter((tool) => names.includes(tool.name)), choice: 'required' };
}
