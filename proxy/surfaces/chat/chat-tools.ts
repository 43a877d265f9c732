// Flattens the tools of Chat: functions and custom tools are taken out of the objects that contain them (F5.5, Q24).
import { invalidRequest, unknownMember } from '../../turn/errors/invalid-request.ts';
import { grammarFault } from '../../turn/json/grammar-fault.ts';
import { isAbsent, isList, isObject, isText, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

export function translateTools(body: Body): void {
  const { tools } = body;
  if (isAbsent(tools)) delete body.tools;
  else if (isList(tools)) body.tools = flatTools(tools);
  else throw invalidRequest('tools', 'must be an array');
}

function flatTools(tools: readonly Json[]): readonly Json[] {
  const taken = new Set<Json>();
  return tools.map((tool, i) => {
    const path = `tools.${i}`;
    const type = isObject(tool) ? tool.type : undefined;
    // A rule refuses such a tool with the same text on every surface (F1.3).
    if (type === 'mcp') return tool;
    if (!isObject(tool) || (type !== 'function' && type !== 'custom')) throw invalidRequest(`${path}.type`, 'must be function or custom');
    const flat = type === 'function' ? flatFunction(tool, path) : flatCustom(tool, path);
    const name = flat.name as Json;
    if (taken.has(name)) throw invalidRequest(`${path}.${type}.name`, 'repeats the name of another tool');
    taken.add(name);
    return flat;
  });
}

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

/** The parameters of a strict function without parameters. A strict schema has to forbid additional properties explicitly. */
const NO_STRICT_PARAMETERS: JsonObject = { ...NO_PARAMETERS, required: [], additionalProperties: false };

/** A function with Chat's defaults written out, because a function of Responses is strict by default and must have parameters. */
function flatFunction(tool: JsonObject, path: string): JsonObject {
  const inside = tool.function;
  if (!isObject(inside)) throw invalidRequest(`${path}.function`, 'must be an object');
  if (!isText(inside.name)) throw invalidRequest(`${path}.function.name`, 'must be a non-blank string');
  const strict = tool.strict === true || inside.strict === true;
  const none = strict ? NO_STRICT_PARAMETERS : NO_PARAMETERS;
  return { ...inside, type: 'function', parameters: isAbsent(inside.parameters) ? none : inside.parameters, strict };
}

const TOOL_MEMBERS: ReadonlySet<string> = new Set(['type', 'custom']);
const CUSTOM_MEMBERS: ReadonlySet<string> = new Set(['name', 'description', 'format']);

function flatCustom(tool: JsonObject, path: string): JsonObject {
  const inside = tool.custom;
  if (!isObject(inside)) throw invalidRequest(`${path}.custom`, 'must be an object');
  refuseOthers(tool, TOOL_MEMBERS, path);
  refuseOthers(inside, CUSTOM_MEMBERS, `${path}.custom`);
  const { name, description, format } = inside;
  if (!isText(name)) throw invalidRequest(`${path}.custom.name`, 'must be a non-blank string');
  if (!isAbsent(description) && typeof description !== 'string') throw invalidRequest(`${path}.custom.description`, 'must be a string');
  return {
    type: 'custom',
    name,
    ...(isAbsent(description) ? {} : { description }),
    ...(isAbsent(format) ? {} : { format: flatFormat(format, `${path}.custom.format`) }),
  };
}

const TEXT_MEMBERS: ReadonlySet<string> = new Set(['type']);
const FORMAT_MEMBERS: ReadonlySet<string> = new Set(['type', 'grammar']);
const GRAMMAR_MEMBERS: ReadonlySet<string> = new Set(['syntax', 'definition']);

/** The format of a custom tool: unconstrained text, or a grammar, which Chat puts into one more object. */
function flatFormat(format: Json, path: string): JsonObject {
  if (!isObject(format)) throw invalidRequest(path, 'must be an object');
  const { type, grammar } = format;
  if (type !== 'text' && type !== 'grammar') throw invalidRequest(`${path}.type`, 'must be text or grammar');
  refuseOthers(format, type === 'text' ? TEXT_MEMBERS : FORMAT_MEMBERS, path);
  if (type === 'text') return { type };
  if (!isObject(grammar)) throw invalidRequest(`${path}.grammar`, 'must be an object');
  refuseOthers(grammar, GRAMMAR_MEMBERS, `${path}.grammar`);
  const fault = grammarFault(grammar);
  if (fault !== undefined) throw invalidRequest(`${path}.grammar${fault}`, 'is not what a grammar may have there');
  return { type, syntax: grammar.syntax, definition: grammar.definition };
}

function refuseOthers(object: JsonObject, members: ReadonlySet<string>, path: string): void {
  const other = Object.keys(object).find((member) => !members.has(member));
  if (other !== undefined) throw invalidRequest(path + unknownMember(other), 'is not what a custom tool may have there');
}
