// The functions of a request and the choice among them, in the form of Chat (AA40).
import { isAbsent, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { hostedTool } from '../../api-accounts/eligibility/needed-tools.ts';
import { chosenTools } from '../../api-accounts/tools/chosen-tools.ts';
import type { FunctionTool } from '../../api-accounts/tools/tool-table.ts';
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
