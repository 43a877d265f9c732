// The tools of one turn as functions. A call of such a function is turned back into a call of the tool that the client declared (AA27).
import { hash } from 'node:crypto';
import { asList, isList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { Adaptations } from '../../../turn/provider/adapted.ts';
import type { Body } from '../../../turn/turn.ts';

/** The types of tools that become functions. */
export type LoweredType = 'function' | 'custom' | 'local_shell' | 'tool_search';

/** What the client declared, by the name of its function. */
export interface LoweredTool {
  readonly type: LoweredType;
  /** The client's name of the tool. For the last two types, the type. */
  readonly name: string;
  readonly namespace: string | undefined;
}

/** A function, with the members of a Responses tool. */
export interface FunctionTool {
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: JsonObject;
  /** Undefined if the client's function states nothing, and for tools that are not functions. */
  readonly strict: boolean | undefined;
}

const LONGEST_NAME = 64;
/** The length to which a long name is cut. `_` and 16 digits of a digest are added. */
const KEPT_OF_NAME = 47;

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

const CUSTOM_PARAMETERS: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

const SHELL_PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    command: { type: 'array', items: { type: 'string' } },
    working_directory: { type: 'string' },
    timeout_ms: { type: 'number' },
    env: { type: 'object', additionalProperties: { type: 'string' } },
  },
  required: ['command'],
};

export class ToolTable {
  /** The functions by name, in the order of their first declaration. */
  readonly #functions = new Map<string, FunctionTool>();
  readonly #declared = new Map<string, LoweredTool>();
  /** Tools of the provider's own, as they were declared. */
  readonly hosted: JsonObject[] = [];

  /** The functions in their order. */
  get functions(): readonly FunctionTool[] {
    return [...this.#functions.values()];
  }

  get isEmpty(): boolean {
    return this.#functions.size === 0;
  }

  /** The tool whose function has this name; undefined for a name outside the table. */
  toolOf(name: string): LoweredTool | undefined {
    return this.#declared.get(name);
  }

  /** The name of a tool's function. The tool may be declared now, or may have been declared earlier in the conversation. */
  nameOf(type: LoweredType, name: string, namespace: string | undefined): string {
    const plain = namespace === undefined ? name : `${namespace}__${name}`;
    const shortened = shortName(plain);
    const [own, other] = [this.#declared.get(plain), this.#declared.get(shortened)];
    if (isSame(own, type, name, namespace)) return plain;
    if (isSame(other, type, name, namespace)) return shortened;
    return namespace !== undefined && plain.length > LONGEST_NAME ? shortened : plain;
  }

  /** The functions of the tool that a choice names. A namespace has the functions of all its children. */
  namesOf({ type, name, namespace }: JsonObject): readonly string[] {
    const within = typeof namespace === 'string' ? namespace : undefined;
    const isChosen = (declared: LoweredTool): boolean => {
      if (type === 'namespace') return declared.namespace === name;
      if (declared.type !== type) return false;
      if (type === 'local_shell' || type === 'tool_search') return true;
      // A tool in a namespace may be chosen by its bare name (F5.3).
      return declared.name === name && (within === undefined || within === declared.namespace);
    };
    return [...this.#declared].filter(([, declared]) => isChosen(declared)).map(([own]) => own);
  }

  /** A later declaration of the same tool replaces an earlier one, in its place. */
  declare(tool: LoweredTool, definition: Omit<FunctionTool, 'name'>): void {
    const { type, name, namespace } = tool;
    const plain = namespace === undefined ? name : `${namespace}__${name}`;
    const taken = this.#declared.get(plain);
    const isTaken = taken !== undefined && !isSame(taken, type, name, namespace);
    const function_ = isTaken || (namespace !== undefined && plain.length > LONGEST_NAME) ? shortName(plain) : plain;
    this.#declared.set(function_, tool);
    this.#functions.set(function_, { name: function_, ...definition });
  }
}

const isSame = (tool: LoweredTool | undefined, type: LoweredType, name: string, namespace: string | undefined): boolean =>
  tool !== undefined && tool.type === type && tool.name === name && tool.namespace === namespace;

const shortName = (name: string): string => `${name.slice(0, KEPT_OF_NAME)}_${hash('sha256', name, 'hex').slice(0, 16)}`;

/** The part of a request that declares tools. A reply keeps it until it is over, and not the rest of the request. */
export const declaringPart = ({ tools, input }: Body): Body => ({
  tools,
  input: asList(input).filter((item) => isObject(item) && (item.type === 'additional_tools' || item.type === 'tool_search_output')),
});

/** The table of all tools that the request declares: at the top level, in `additional_tools` items, and in the outputs of tool searches. */
export function toolTable({ tools, input }: Body, adapted: Adaptations): ToolTable {
  const table = new ToolTable();
  addTools(table, tools, adapted);
  if (!isList(input)) return table;
  for (const item of input) {
    if (!isObject(item)) continue;
    if (item.type === 'additional_tools' || (item.type === 'tool_search_output' && item.execution === 'client'))
      addTools(table, item.tools, adapted);
  }
  return table;
}

function addTools(table: ToolTable, tools: Json | undefined, adapted: Adaptations): void {
  if (!isList(tools)) return;
  for (const tool of tools) {
    if (!isObject(tool)) continue;
    if (tool.type !== 'namespace') addTool(table, tool, undefined, adapted);
    else if (isList(tool.tools) && typeof tool.name === 'string') {
      adapted.note('tools.namespace');
      for (const child of tool.tools) if (isObject(child)) addTool(table, child, tool.name, adapted);
    }
  }
}

function addTool(table: ToolTable, tool: JsonObject, namespace: string | undefined, adapted: Adaptations): void {
  const { type } = tool;
  if (type === 'function') addFunction(table, isObject(tool.function) ? { ...tool, ...tool.function } : tool, namespace);
  else if (type === 'custom' && typeof tool.name === 'string') {
    adapted.note('tools.custom');
    const definition = { description: customDescription(tool), parameters: CUSTOM_PARAMETERS, strict: undefined };
    table.declare({ type, name: tool.name, namespace }, definition);
  } else if (type === 'local_shell') {
    adapted.note('tools.local_shell');
    const definition = { description: 'Runs a command on the machine of the user.', parameters: SHELL_PARAMETERS, strict: undefined };
    table.declare({ type, name: type, namespace: undefined }, definition);
  } else if (type === 'tool_search' && tool.execution === 'client') {
    adapted.note('tools.tool_search');
    table.declare(
      { type, name: type, namespace: undefined },
      { description: textOf(tool.description), parameters: parametersOf(tool), strict: undefined },
    );
  } else table.hosted.push(tool);
}

function addFunction(table: ToolTable, tool: JsonObject, namespace: string | undefined): void {
  const { name, strict } = tool;
  if (typeof name !== 'string') return;
  const definition = {
    description: textOf(tool.description),
    parameters: parametersOf(tool),
    strict: typeof strict === 'boolean' ? strict : undefined,
  };
  table.declare({ type: 'function', name, namespace }, definition);
}

/**
 * The schema of the arguments. Servers require the type object at its root. A rule has added the type to tools of the turn, but not to those
 * that items add (Q31). A strict schema stays as it is.
 */
function parametersOf({ parameters, strict }: JsonObject): JsonObject {
  if (!isObject(parameters)) return NO_PARAMETERS;
  const isWhole = parameters.type !== undefined || strict === true;
  return isWhole ? parameters : { ...NO_PARAMETERS, ...parameters };
}

const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** The description of a custom tool with its grammar, which is all that the model learns about the form of the text. */
function customDescription({ description, format }: JsonObject): string | undefined {
  const own = textOf(description);
  if (!isObject(format) || format.type !== 'grammar') return own;
  const grammar = `The input must match this ${String(format.syntax)} grammar:\n${String(format.definition)}`;
  return own === undefined ? grammar : `${own}\n\n${grammar}`;
}
