// Translates the `tool_choice` of Chat into the flat form that tools have too (F5.5, Q24).
import { asList, isAbsent, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** Translates the choice. A rule of all surfaces checks whether it names a declared tool. */
export function translateToolChoice(body: Body): void {
  const choice = body.tool_choice;
  if (isAbsent(choice)) delete body.tool_choice;
  else if (isObject(choice)) body.tool_choice = flatChoice(choice);
}

/** The flat choice. A choice that is flat already is not valid in Chat, so that it names no tool. */
function flatChoice({ type, function: called, custom, allowed_tools: allowed }: JsonObject): JsonObject {
  if (type === 'function' && isObject(called)) return { type, name: called.name };
  if (type === 'custom' && isObject(custom)) return { type, name: custom.name };
  if (type !== 'allowed_tools' || !isObject(allowed)) return { type };
  return { type, mode: allowed.mode, tools: asList(allowed.tools).map((tool): Json => (isObject(tool) ? flatChoice(tool) : null)) };
}
