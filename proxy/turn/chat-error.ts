// A provider's error in the words of Chat: it names members of the Responses request, which the client did not write (Q3, Q24).
import type { ProviderError } from './error-statement.ts';

/** Members of the Responses request, and those of Chat that they were made of. The longest that fits counts. */
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

/** Of a tool: in which wrapper Chat has a member, where one kind of tool alone has it. */
const TOOL_MEMBERS = new Map([
  ['parameters', 'function.parameters'],
  ['strict', 'function.strict'],
  ['format', 'custom.format'],
]);

const TOOL = /^(tools(?:\[\d+\]|\.\d+))(?:\.([a-z_]+))?/;

function chatParam(param: string): string | null {
  const [, tool, member = ''] = TOOL.exec(param) ?? [];
  if (tool !== undefined) return TOOL_MEMBERS.has(member) ? `${tool}.${TOOL_MEMBERS.get(member)}` : tool;
  const isIn = (name: string): boolean => param.startsWith(name) && !/^\w/.test(param.slice(name.length));
  const name = NAMES.findLast(([responses]) => isIn(responses));
  return name ? name[1] : param;
}

const QUOTES = ["'", '"', '`'] as const;

/** The same error where it names nothing that Chat has under another name. */
export function inChatWords(error: ProviderError): ProviderError {
  const { param, message } = error;
  if (param === null) return error;
  const own = chatParam(param);
  if (own === param) return error;
  const renamed = QUOTES.reduce((text, quote) => text?.replaceAll(quote + param + quote, quote + (own ?? param) + quote) ?? null, message);
  return { ...error, param: own, message: renamed };
}
