// A `tool_choice` names something that the request declares (F5.3, Q16).

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isAbsent, isList, isObject } from '../../proxy/turn/json.ts';
import { rule } from '../../proxy/turn/rule.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { declaredTools } from '../helpers/declared-tools.ts';
import { wrappedFunction } from '../helpers/executable-tools.ts';
import { invalidRequest } from '../helpers/invalid-request.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

const SCALARS: ReadonlySet<Json> = new Set(['auto', 'none', 'required']);

/** Runs after the refusal of map-shaped choices in Lite (F2.12), which does not depend on what they name. */
export const toolChoice = rule({
  name: 'tool-choice',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    const choice = body.tool_choice;
    if (isAbsent(choice) || SCALARS.has(choice)) return;
    if (!isObject(choice) || !resolves(choice, body)) throw invalidRequest('tool_choice', 'names no tool that this request declares');
  },
});

function resolves(choice: JsonObject, body: Body): boolean {
  const declared = declaredChoices(body);
  const known = (one: Json): boolean => isObject(one) && declared.has(choiceKey(one));
  if (choice.type !== 'allowed_tools') return known(choice);
  const allowed = choice.tools;
  return isList(allowed) && allowed.length > 0 && allowed.every(known);
}

/** All declared tools as choices would name them, in one pass: a long list of allowed tools then costs linear time. */
function declaredChoices(body: Body): ReadonlySet<string | undefined> {
  const choices = new Set<string | undefined>();
  for (const { tool } of declaredTools(body)) {
    if (isObject(tool)) choices.add(choiceKey(tool));
  }
  choices.delete(undefined);
  return choices;
}

/** Functions, custom tools and namespaces are chosen by type and exact name, hosted tools by their type. */
function choiceKey(tool: JsonObject): string | undefined {
  const { type } = tool;
  if (typeof type !== 'string' || !NAMED.has(type)) return typeof type === 'string' ? `hosted ${type}` : undefined;
  const name = tool.name ?? (type === 'function' ? wrappedFunction(tool)?.name : undefined);
  return typeof name === 'string' ? `${type} ${name}` : undefined;
}

const NAMED: ReadonlySet<string> = new Set(['function', 'custom', 'namespace']);
