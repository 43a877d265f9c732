// The members of a Responses request under the names that Chat has for them (Q24).

/** Members of the Responses request, and the members of Chat they were made from. The last match counts, because it is the longest. */
const NAMES: readonly (readonly [responses: string, chat: string | null])[] = [
  // Messages become items, or instructions, in other places: no place in them is known here.
  ['input', 'messages'],
  ['instructions', 'messages'],
  ['max_output_tokens', 'max_completion_tokens'],
  ['reasoning', 'reasoning_effort'],
  ['text', 'response_format'],
  ['text.verbosity', 'verbosity'],
  ['text.format.type', 'response_format.type'],
  ['text.format.name', 'response_format.json_schema.name'],
  ['text.format.description', 'response_format.json_schema.description'],
  ['text.format.schema', 'response_format.json_schema.schema'],
  ['text.format.strict', 'response_format.json_schema.strict'],
  ['tool_choice', 'tool_choice'],
  // Added here.
  ['include', null],
];

/** Members of a tool that only one kind of tool has, with the wrapper they have in Chat. */
const TOOL_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['parameters', 'function.parameters'],
  ['strict', 'function.strict'],
  ['format', 'custom.format'],
]);

const TOOL = /^(tools(?:\[\d+\]|\.\d+))(?:\.([a-z_]+))?/;

export function chatParam(param: string): string | null {
  const [, tool, member = ''] = TOOL.exec(param) ?? [];
  if (tool !== undefined) return TOOL_MEMBERS.has(member) ? `${tool}.${TOOL_MEMBERS.get(member)}` : tool;
  const isIn = (name: string): boolean => param.startsWith(name) && !/^\w/.test(param.slice(name.length));
  const name = NAMES.findLast(([responses]) => isIn(responses));
  return name ? name[1] : param;
}
