// Calls and outputs in the history as calls of functions, with ids, names, arguments and results, for tools of any type (AA27).
import { isObject, isObjectText, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { Adaptations, AdaptedName } from '../../../turn/provider/adapted.ts';
import type { ToolTable } from './tool-table.ts';

export interface FunctionCall {
  /** The client's id of the call; undefined if the call has none. */
  readonly id: string | undefined;
  readonly name: string;
  readonly arguments: string;
}

export interface FunctionOutput {
  readonly id: string | undefined;
  /** A text or a list of content parts. */
  readonly output: Json;
}

const LOWERED: Readonly<Record<string, AdaptedName>> = {
  custom_tool_call: 'input.custom_tool_call',
  local_shell_call: 'input.local_shell_call',
  tool_search_call: 'input.tool_search_call',
};

/** The call as a function call; undefined if the item is not a call of a client's tool. */
export function functionCall(item: JsonObject, table: ToolTable, adapted: Adaptations): FunctionCall | undefined {
  const { type } = item;
  const lowered = typeof type === 'string' && Object.hasOwn(LOWERED, type) ? LOWERED[type] : undefined;
  if (type !== 'function_call' && !lowered) return undefined;
  if (lowered) adapted.note(lowered);
  const id = idOf(item);
  const name = typeof item.name === 'string' ? item.name : '';
  const namespace = typeof item.namespace === 'string' ? item.namespace : undefined;
  switch (type) {
    case 'function_call': {
      const called = table.nameOf('function', name, namespace);
      if (called !== name) adapted.note('input.function_call');
      return { id, name: called, arguments: argumentsText(item.arguments, adapted) };
    }
    case 'custom_tool_call':
      return { id, name: table.nameOf('custom', name, namespace), arguments: JSON.stringify({ input: item.input ?? '' }) };
    case 'local_shell_call':
      return { id, name: table.nameOf('local_shell', 'local_shell', undefined), arguments: shellArguments(item.action) };
    default:
      return {
        id,
        name: table.nameOf('tool_search', 'tool_search', undefined),
        arguments: isObject(item.arguments) ? JSON.stringify(item.arguments) : argumentsText(item.arguments, adapted),
      };
  }
}

const OUTPUTS: ReadonlySet<Json | undefined> = new Set([
  'function_call_output',
  'custom_tool_call_output',
  'local_shell_call_output',
  'tool_search_output',
]);

/** The output; undefined if the item is not an output of a client's tool. */
export function functionOutput(item: JsonObject): FunctionOutput | undefined {
  if (!OUTPUTS.has(item.type)) return undefined;
  const output = item.type === 'tool_search_output' ? JSON.stringify({ tools: item.tools ?? [] }) : (item.output ?? '');
  return { id: idOf(item), output };
}

/** The id of a call or an output. Items of local shell calls may have `id` instead of `call_id`. */
function idOf({ call_id: callId, id, type }: JsonObject): string | undefined {
  if (typeof callId === 'string' && callId !== '') return callId;
  return String(type).startsWith('local_shell_call') && typeof id === 'string' && id !== '' ? id : undefined;
}

function shellArguments(action: Json | undefined): string {
  if (!isObject(action)) return '{}';
  const { command, working_directory, timeout_ms, env } = action;
  return JSON.stringify({ command, working_directory, timeout_ms, env }, (_, value: unknown) => value ?? undefined);
}

/** The arguments of an earlier call as text. Servers parse them, and refuse a request whose arguments are not an object. */
function argumentsText(value: Json | undefined, adapted: Adaptations): string {
  const text = typeof value === 'string' ? value : '';
  if (isObjectText(text)) return text;
  adapted.note('input.function_call.arguments');
  return text.trim() === '' ? '{}' : JSON.stringify({ input: text });
}
