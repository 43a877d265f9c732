// Turns a call of a function into the item of the tool that the client declared (AA27).
import { isObject, type JsonObject, parsedObject } from '../../../turn/json/json.ts';
import type { LoweredTool } from './tool-table.ts';

/** @param given the arguments as text; of a custom tool its input */
export function calledItem({ type, name, namespace }: LoweredTool, head: JsonObject, given: string): JsonObject {
  const named = { name, ...(namespace === undefined ? {} : { namespace }) };
  switch (type) {
    case 'function':
      return { ...head, type: 'function_call', ...named, arguments: given };
    case 'custom':
      return { ...head, type: 'custom_tool_call', ...named, input: given };
    case 'local_shell':
      return { ...head, type: 'local_shell_call', action: shellAction(given) };
    case 'tool_search':
      return { ...head, type: 'tool_search_call', execution: 'client', arguments: objectOf(given) };
  }
}

/** The text of a custom call: the member `input`, or the raw arguments. */
export function customInput(text: string): string {
  const { input } = objectOf(text);
  return typeof input === 'string' ? input : text;
}

const objectOf = (text: string): JsonObject => parsedObject(text) ?? {};

/** The action of a shell call. If the arguments cannot be read, the action runs nothing. */
function shellAction(text: string): JsonObject {
  const { command, working_directory, timeout_ms, env } = objectOf(text);
  return {
    type: 'exec',
    command: Array.isArray(command) ? command.map(String) : typeof command === 'string' ? [command] : [],
    env: isObject(env) ? env : {},
    ...(typeof working_directory === 'string' ? { working_directory } : {}),
    ...(typeof timeout_ms === 'number' ? { timeout_ms } : {}),
  };
}
