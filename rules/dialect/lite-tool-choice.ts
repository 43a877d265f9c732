// Lite has no way to carry a map-shaped tool_choice: it follows the model's mode, not the endpoint (F2.12, F5.3).

import { isObject } from '../../proxy/turn/json.ts';
import { Refusal } from '../../proxy/turn/refusal.ts';
import { rule } from '../rule.ts';

/** Chat keeps the name `tool_choice`, so one check serves it before its translation too. */
export const liteToolChoice = rule({
  name: 'lite-tool-choice',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request({ body }, turn) {
    if (turn.model?.mode?.effective !== 'lite' || !isObject(body.tool_choice)) return;
    throw new Refusal('unsupported_parameter', {
      param: 'tool_choice',
      message: 'This model does not take a tool_choice object; use auto, none or required.',
    });
  },
});
