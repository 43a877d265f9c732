// The `tool_choice` of Chat, flat like the tools that it names (F5.5, Q24).
import { asList, isAbsent, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** A rule of all surfaces checks whether the choice names a declared tool. */
export function translateToolChoice(body: Body): void {
  const choice = body.tool_choice;
  if (isAbsent(choice)) delete body.tool_choice;
  else if (isObject(choice)) body.tool_choice = flatChoice(choice);
}

/** A choice without its wrapper names no tool: a flat one is no choice of Chat. */
function flatChoice({ type, function: called, custom, allowed_tools: allowed }: JsonObject): JsonObject {
  if (type === 'function' && isObject(called)) return { type, name: called.name };
  if (type === 'custom' && isObject(custom)) return { type, name: custom.name };
  if (type !== 'allowed_tools' || !isObject(allowed)) return { type };
  return { type, mode: allowed.mode, tools: asList(allowed.tools).map((tool): Json => (isObject(tool) ? flatChoice(tool) : null)) };
}
