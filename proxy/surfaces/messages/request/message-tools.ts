// The tools of a Messages request, and the choice among them (AM40 to AM46).
import { isAbsent, isList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { upstreamToolName } from '../tool-identity.ts';
import { malformed, objectAt, textAt, unsupported } from './malformed.ts';
import { hasStrictForm } from './strict-form.ts';

/** A tool as it is sent to the account, with the place at which the client declared it. */
export interface SentTool {
  /** The client's name. */
  readonly name: string;
  readonly tool: JsonObject;
  readonly place: string;
}

interface Declared extends SentTool {
  /** Whether the tool is sent only after the conversation has named it. */
  isDeferred: boolean;
  /** Whether the conversation has taken the tool away. A later addition of its name gives it back. */
  isRemoved: boolean;
}

/** Receives what a conversation changes about the declared tools. */
export interface ToolChanges {
  /** Called if a tool result names a tool that becomes available. */
  named(name: string): void;
  added(tool: JsonObject, place: string): void;
  removed(tool: JsonObject, place: string): void;
}

const NAME = /^[A-Za-z0-9_-]{1,128}$/;
const WEB_SEARCH = /^web_search_\d{8}$/;
/** Tools of a vendor's servers that only help to find or check other tools. They are left out, because turns work without them. */
const LEFT_OUT = /^(tool_search_tool|advisor)_/;
const TOOL_SEARCH = /^tool_search_tool_/;

export class Tools implements ToolChanges {
  /** The tools by the client's names, in order. */
  readonly #tools = new Map<string, Declared>();
  #searchesTools = false;

  constructor(tools: Json | undefined) {
    if (isAbsent(tools)) return;
    if (!isList(tools)) throw malformed('tools', 'must be an array');
    for (const [i, tool] of tools.entries()) this.#declare(objectAt(tool, `tools.${i}`), `tools.${i}`);
  }

  named(name: string): void {
    const tool = this.#tools.get(name);
    if (tool) tool.isDeferred = false;
  }

  added(tool: JsonObject, place: string): void {
    if (tool.type !== 'tool_definition') {
      const name = referenced(tool, place);
      this.named(name);
      const declared = this.#tools.get(name);
      if (declared) declared.isRemoved = false;
      return;
    }
    const definition = objectAt(tool.definition, `${place}.definition`);
    // A tool that is added again gets its new definition.
    if (typeof definition.name === 'string') this.#tools.delete(definition.name);
    this.#declare({ ...definition, defer_loading: false }, `${place}.definition`);
  }

  removed(tool: JsonObject, place: string): void {
    const declared = this.#tools.get(referenced(tool, place));
    if (declared) declared.isRemoved = true;
  }

  /** @param chosen the tool that must be called; it is always sent */
  sent(chosen?: string): readonly SentTool[] {
    const isSent = ({ name, isDeferred, isRemoved }: Declared): boolean =>
      !isRemoved && (!isDeferred || this.#searchesTools || name === chosen);
    return [...this.#tools.values()].filter(isSent);
  }

  has(name: string): boolean {
    return this.#tools.get(name)?.isRemoved === false;
  }

  #declare(tool: JsonObject, place: string): void {
    const { type } = tool;
    if (!isAbsent(type) && type !== 'custom') {
      const given = textAt(type, `${place}.type`);
      if (TOOL_SEARCH.test(given)) this.#searchesTools = true;
      if (LEFT_OUT.test(given)) return;
      if (!WEB_SEARCH.test(given)) throw unsupported(`${place}.type`);
    }
    const name = textAt(tool.name, `${place}.name`);
    if (!NAME.test(name)) throw malformed(`${place}.name`, 'must have 1 to 128 letters, digits, underscores or hyphens');
    if (this.#tools.has(name)) throw malformed(`${place}.name`, 'repeats the name of another tool');
    const sent = isAbsent(type) || type === 'custom' ? functionTool(tool, name, place) : webSearch(tool);
    this.#tools.set(name, { name, tool: sent, place, isDeferred: tool.defer_loading === true, isRemoved: false });
  }
}

/** The name of the tool that a change refers to. */
function referenced({ type, name }: JsonObject, place: string): string {
  if (type !== 'tool_reference') throw unsupported(`${place}.type`);
  return textAt(name, `${place}.name`);
}

/** A function tool. `strict` is always written, because an absent member would mean true. */
function functionTool({ description, input_schema: schema, strict }: JsonObject, name: string, place: string): JsonObject {
  if (!isObject(schema)) throw malformed(`${place}.input_schema`, 'must be an object');
  if (!isAbsent(description)) textAt(description, `${place}.description`);
  return {
    type: 'function',
    name: upstreamToolName(name),
    ...(isAbsent(description) ? {} : { description }),
    parameters: schema,
    strict: strict === true && hasStrictForm(schema),
  };
}

function webSearch({ allowed_domains, blocked_domains, user_location }: JsonObject): JsonObject {
  const filters = {
    ...(isAbsent(allowed_domains) ? {} : { allowed_domains }),
    ...(isAbsent(blocked_domains) ? {} : { blocked_domains }),
  };
  return {
    type: 'web_search',
    ...(Object.keys(filters).length > 0 ? { filters } : {}),
    ...(isAbsent(user_location) ? {} : { user_location }),
  };
}

/** The choice as it is sent, and whether calls may run in parallel. */
export interface ToolChoice {
  readonly tool_choice?: Json;
  readonly parallel_tool_calls?: boolean;
  readonly tools: readonly SentTool[];
  /** The tool that the client requires by name. */
  readonly named: SentTool | undefined;
}

const CHOICES: Readonly<Record<string, string>> = { auto: 'auto', any: 'required', none: 'none' };

export function toolChoiceOf(choice: Json | undefined, declared: Tools): ToolChoice {
  if (isAbsent(choice)) return { tools: declared.sent(), named: undefined, ...parallel(declared.sent(), false) };
  const { type, name, disable_parallel_tool_use: alone } = objectAt(choice, 'tool_choice');
  if (!isAbsent(alone) && typeof alone !== 'boolean') throw malformed('tool_choice.disable_parallel_tool_use', 'must be a boolean');
  if (type === 'tool') {
    const chosen = textAt(name, 'tool_choice.name');
    if (!declared.has(chosen)) throw malformed('tool_choice.name', 'must name a declared tool');
    const tools = declared.sent(chosen);
    const named = tools.find((tool) => tool.name === chosen);
    return { tools, named, tool_choice: tools.length === 1 ? 'required' : choiceOf(named), ...parallel(tools, alone === true) };
  }
  const word = typeof type === 'string' && Object.hasOwn(CHOICES, type) ? CHOICES[type] : undefined;
  if (word === undefined) throw malformed('tool_choice.type', 'must be auto, any, tool or none');
  const tools = declared.sent();
  return { tools, named: undefined, tool_choice: word, ...parallel(tools, alone === true) };
}

/** The choice of one of several tools. An account that runs Lite gets `required` and only that tool. */
function choiceOf(named: SentTool | undefined): Json {
  const { type, name } = named?.tool ?? {};
  return type === 'function' ? { type, name: name ?? null } : { type: type ?? null };
}

const parallel = (tools: readonly SentTool[], isAlone: boolean): { readonly parallel_tool_calls?: boolean } => {
  if (isAlone) return { parallel_tool_calls: false };
  return tools.length > 0 ? { parallel_tool_calls: true } : {};
};
