// Checks that a `tool_choice` names a tool that the request declares (F5.3, Q16).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import type { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { isAbsent, isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { COMPATIBLE_TURNS } from '../route-groups.ts';
import { declaredTools } from './declared-tools.ts';
import { wrappedFunction } from './executable-tools.ts';

/** Runs after the refusal of map-shaped choices in Lite (F2.12), which does not depend on what they name. */
export const toolChoice = rule({
  name: 'tool-choice',
  routes: COMPATIBLE_TURNS,
  request({ body }) {
    const choice = body.tool_choice;
    if (isAbsent(choice) || isScalarChoice(choice)) return;
    if (!isObject(choice) || !resolvesChoice(choice, body)) throw undeclaredChoice();
  },
});

const SCALARS: ReadonlySet<Json> = new Set(['auto', 'none', 'required']);

const isScalarChoice = (choice: Json): boolean => SCALARS.has(choice);

const undeclaredChoice = (): Refusal => invalidRequest('tool_choice', 'names no tool that this request declares');

/** Whether a map-shaped choice names a tool that the request declares; both are in their flat form. */
function resolvesChoice(choice: JsonObject, body: Body): boolean {
  const declared = declaredChoices(body);
  const known = (one: Json): boolean => isObject(one) && declared.has(choiceKey(one));
  if (choice.type !== 'allowed_tools') return known(choice);
  const allowed = choice.tools;
  return isList(allowed) && allowed.length > 0 && allowed.every(known);
}

/** All declared tools as choices would name them, collected in one pass, so that a long list of allowed tools costs linear time. */
function declaredChoices(body: Body): ReadonlySet<string | undefined> {
  const choices = new Set<string | undefined>();
  for (const { tool } of declaredTools(body)) {
    if (isObject(tool)) choices.add(choiceKey(tool));
  }
  choices.delete(undefined);
  return choices;
}

/** How a choice names a tool: functions, custom tools and namespaces by type and exact name, hosted tools by type. */
function choiceKey(tool: JsonObject): string | undefined {
  const { type } = tool;
  if (typeof type !== 'string' || !NAMED.has(type)) return typeof type === 'string' ? `hosted ${type}` : undefined;
  const name = tool.name ?? (type === 'function' ? wrappedFunction(tool)?.name : undefined);
  return typeof name === 'string' ? `${type} ${name}` : undefined;
}

const NAMED: ReadonlySet<string> = new Set(['function', 'custom', 'namespace']);
