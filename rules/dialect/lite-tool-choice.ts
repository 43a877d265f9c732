// Refuses a map-shaped `tool_choice` in Lite, on every endpoint (F2.12, F5.3).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { isObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { explainInMode } from '../helpers/explain.ts';
import { TURNS } from '../route-groups.ts';

export const liteToolChoice = rule({
  name: 'lite-tool-choice',
  routes: TURNS,
  request({ body }, turn) {
    if (turn.model?.mode?.effective !== 'lite' || !isObject(body.tool_choice)) return;
    throw new Refusal('unsupported_parameter', {
      param: 'tool_choice',
      message: 'This model does not accept a tool_choice object; use auto, none or required.',
    });
  },
  explain: explainInMode('lite', 'refuses a map-shaped tool_choice'),
});
