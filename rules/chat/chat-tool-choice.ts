// Flattens the `tool_choice` of Chat, like the tools that it names (F5.5, Q24).

import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import { asList, isAbsent, isObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { CHAT_TURNS } from '../route-groups.ts';
import { isScalarChoice, resolvesChoice, undeclaredChoice } from '../tools/declared-choices.ts';

/** Runs after the tools have become flat. */
export const chatToolChoice = rule({
  name: 'chat-tool-choice',
  routes: CHAT_TURNS,
  request({ body }) {
    const choice = body.tool_choice;
    if (isAbsent(choice)) {
      delete body.tool_choice;
      return;
    }
    if (isScalarChoice(choice)) return;
    const flat = isObject(choice) && flatChoice(choice);
    if (!flat || !resolvesChoice(flat, body)) throw undeclaredChoice();
    body.tool_choice = flat;
  },
});

function flatChoice({ type, function: called, custom, allowed_tools: allowed }: JsonObject): JsonObject | undefined {
  if (type === 'function') return isObject(called) ? { type, name: called.name } : undefined;
  if (type === 'custom') return isObject(custom) ? { type, name: custom.name } : undefined;
  if (type !== 'allowed_tools' || !isObject(allowed)) return undefined;
  return {
    type,
    mode: allowed.mode,
    tools: asList(allowed.tools).map((tool): Json => (isObject(tool) ? (flatChoice(tool) ?? null) : null)),
  };
}
