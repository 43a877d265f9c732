// The functions that a `tool_choice` allows, and the choice among them (AA27, AA40).
import { asList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { Adaptations } from '../../../turn/provider/adapted.ts';
import type { Quirks } from '../../../turn/provider/quirks.ts';
import type { FunctionTool, ToolTable } from './tool-table.ts';

export interface ChosenTools {
  readonly tools: readonly FunctionTool[];
  /** A word, or the function that must be called. Undefined if the request states no choice. */
  readonly choice: string | { readonly name: string } | undefined;
}

export function chosenTools(
  choice: Json | undefined,
  tools: ToolTable,
  { tool_choice_named: isNamed }: Pick<Quirks, 'tool_choice_named'>,
  adapted: Adaptations,
): ChosenTools {
  const { functions } = tools;
  if (!isObject(choice)) return { tools: functions, choice: typeof choice === 'string' ? choice : undefined };
  if (choice.type === 'allowed_tools') {
    adapted.note('tool_choice');
    const names = new Set(asList(choice.tools).flatMap((tool) => (isObject(tool) ? namesOf(tool, tools) : [])));
    return { tools: functions.filter(({ name }) => names.has(name)), choice: typeof choice.mode === 'string' ? choice.mode : 'auto' };
  }
  const names = namesOf(choice, tools);
  const [name] = names;
  if (name === undefined) return { tools: functions, choice: undefined };
  if (isNamed && names.length === 1) return { tools: functions, choice: { name } };
  adapted.note('tool_choice');
  return { tools: functions.filter((tool) => names.includes(tool.name)), choice: 'required' };
}

/** The functions of the tool that a choice names. A namespace has the functions of all its children. */
function namesOf({ type, name, namespace }: JsonObject, tools: ToolTable): readonly string[] {
  const within = typeof namespace === 'string' ? namespace : undefined;
  return tools.functions
    .map((tool) => tool.name)
    .filter((own) => {
      const declared = tools.toolOf(own);
      if (!declared) return false;
      if (type === 'namespace') return declared.namespace === name;
      if (declared.type !== type) return false;
      if (type === 'local_shell' || type === 'tool_search') return true;
      // A tool in a namespace may be chosen by its bare name (F5.3).
      return declared.name === name && (within === undefined || within === declared.namespace);
    });
}
