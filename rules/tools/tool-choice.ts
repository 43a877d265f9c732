// Checks that a `tool_choice` names a tool that the request declares (F5.3, Q16).
import { isAbsent, isObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { COMPATIBLE_TURNS } from '../route-groups.ts';
import { isScalarChoice, resolvesChoice, undeclaredChoice } from './declared-choices.ts';

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
