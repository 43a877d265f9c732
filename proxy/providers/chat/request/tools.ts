// The functions of a request, and the choice among them, as Chat has them (AA40).
import { asList, isAbsent, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { FunctionTool, LoweredType, ToolTable } from '../../api-accounts/tools/tool-table.ts';
import type { ChatEncoding } from './encoding.ts';

/** The members `tools`, `tool_choice` and `parallel_tool_calls`; none where no tool goes out. */
export function toolMembers(choice: Json | undefined, parallel: Json | undefined, encoding: ChatEncoding): JsonObject {
  const { tools, quirks, adapted } = encoding;
  for (const { type } of tools.hosted) if (isHosted(type)) adapted.note(`tools.${type}`);
  const chosen = chosenTools(choice, encoding);
  if (chosen.tools.length === 0) {
    if (!isAbsent(choice)) adapted.note('tool_choice');
    return {};
  }
  if (typeof parallel === 'boolean' && !quirks.parallel_tool_calls) adapted.note('parallel_tool_calls');
  return {
    tools: chosen.tools.map((tool) => chatTool(tool, encoding)),
    ...(chosen.choice === undefined ? {} : { tool_choice: chosen.choice }),
    ...(typeof parallel === 'boolean' && quirks.parallel_tool_calls ? { parallel_tool_calls: parallel } : {}),
  };
}

const isHosted = (type: Json | undefined): type is 'web_search' | 'image_generation' | 'tool_search' =>
  type === 'web_search' || type === 'image_generation' || type === 'tool_search';

interface Chosen {
  readonly tools: readonly FunctionTool[];
  readonly choice: Json | undefined;
}

function chosenTools(choice: Json | undefined, { tools, quirks, adapted }: ChatEncoding): Chosen {
  if (!isObject(choice)) return { tools: tools.functions, choice: typeof choice === 'string' ? choice : undefined };
  if (choice.type === 'allowed_tools') {
    adapted.note('tool_choice');
    const names = new Set(asList(choice.tools).flatMap((tool) => (isObject(tool) ? namesOf(tool, tools) : [])));
    return { tools: tools.functions.filter(({ name }) => names.has(name)), choice: choice.mode };
  }
  const names = namesOf(choice, tools);
  const [name] = names;
  if (name === undefined) return { tools: tools.functions, choice: undefined };
  if (quirks.tool_choice_named && names.length === 1) {
    return { tools: tools.functions, choice: { type: 'function', function: { name } } };
  }
  adapted.note('tool_choice');
  return { tools: tools.functions.filter((tool) => names.includes(tool.name)), choice: 'required' };
}

/** The functions of the tool that a choice names; of a namespace all of its children. */
function namesOf({ type, name, namespace }: JsonObject, tools: ToolTable): readonly string[] {
  const within = typeof namespace === 'string' ? namespace : undefined;
  return tools.functions
    .map((tool) => tool.name)
    .filter((own) => {
      const declared = tools.toolOf(own);
      if (!declared) return false;
      if (type === 'namespace') return declared.namespace === name;
      if (declared.type !== (type as LoweredType)) return false;
      // Only custom tools are chosen by their bare name within a namespace (F5.3).
      return (
        type === 'local_shell' ||
        type === 'tool_search' ||
        (declared.name === name && (within ?? declared.namespace) === declared.namespace)
      );
    });
}

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
