// A `tool_choice` names something that the request declares (F5.3, Q16).

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isAbsent, isList, isObject } from '../../proxy/turn/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { invalid } from '../invalid.ts';
import { rule } from '../rule.ts';
import { declaredTools } from './declared-tools.ts';
import { wrappedFunction } from './executable.ts';

const SCALARS: ReadonlySet<Json> = new Set(['auto', 'none', 'required']);

/** Stands after the refusal of map-shaped choices in Lite (F2.12), which holds whether or not they resolve. */
export const toolChoice = rule({
  name: 'tool-choice',
  routes: ['public-responses'],
  request({ body }) {
    const choice = body.tool_choice;
    if (isAbsent(choice) || SCALARS.has(choice)) return undefined;
    if (!isObject(choice) || !resolves(choice, body)) throw invalid('tool_choice', 'names no tool that this request declares');
    return undefined;
  },
});

function resolves(choice: JsonObject, body: Body): boolean {
  const declared = declaredChoices(body);
  const known = (one: Json): boolean => isObject(one) && declared.has(meaningOf(one));
  if (choice.type !== 'allowed_tools') return known(choice);
  const allowed = choice.tools;
  return isList(allowed) && allowed.length > 0 && allowed.every(known);
}

/** All that a choice could mean, in one pass, so that a long list of allowed tools costs no more than it is long. */
function declaredChoices(body: Body): ReadonlySet<string | undefined> {
  const choices = new Set<string | undefined>();
  for (const { tool } of declaredTools(body)) {
    if (isObject(tool)) choices.add(meaningOf(tool));
  }
  choices.delete(undefined);
  return choices;
}

/** Functions, custom tools and namespaces are chosen by type and exact name, hosted tools by their type. */
function meaningOf(tool: JsonObject): string | undefined {
  const { type } = tool;
  if (typeof type !== 'string' || !NAMED.has(type)) return typeof type === 'string' ? `hosted ${type}` : undefined;
  const name = tool.name ?? (type === 'function' ? wrappedFunction(tool)?.name : undefined);
  return typeof name === 'string' ? `${type} ${name}` : undefined;
}

const NAMED: ReadonlySet<string> = new Set(['function', 'custom', 'namespace']);
