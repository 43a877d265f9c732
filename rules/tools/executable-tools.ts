// Tools that a model calls by name: function tools, flat or in the older nested wrapper, and custom tools.
import { isAbsent, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';

export interface Executable {
  readonly name: string;
  /** The path of the tool's name. */
  readonly path: string;
}

export function executableOf(tool: Json, path: string): Executable | undefined {
  if (!isObject(tool)) return undefined;
  const { type, name } = tool;
  if (type !== 'function' && type !== 'custom') return undefined;
  if (typeof name === 'string') return { name, path: `${path}.name` };
  const wrapped = type === 'function' ? wrappedFunction(tool)?.name : undefined;
  return typeof wrapped === 'string' ? { name: wrapped, path: `${path}.function.name` } : undefined;
}

/** The inner object of `{type: function, function: {name, parameters, strict}}`, the form of older clients and of Chat. */
export function wrappedFunction(tool: JsonObject): JsonObject | undefined {
  return isObject(tool.function) ? tool.function : undefined;
}

export interface FunctionParameters {
  readonly parameters: Json;
  /** The path of the parameters. */
  readonly path: string;
}

/** The parameters of a function tool, in either form; null counts as absent, as in the public API. */
export function* parametersOf(tool: JsonObject, path: string): Generator<FunctionParameters> {
  if (tool.type !== 'function') return;
  if (!isAbsent(tool.parameters)) yield { parameters: tool.parameters, path: `${path}.parameters` };
  const inside = wrappedFunction(tool);
  if (inside && !isAbsent(inside.parameters)) yield { parameters: inside.parameters, path: `${path}.function.parameters` };
}

/** Whether a function is strict: only with a literal `true` (Q16), on the tool or on its wrapper. */
export function isStrict(tool: JsonObject): boolean {
  return tool.strict === true || wrappedFunction(tool)?.strict === true;
}
