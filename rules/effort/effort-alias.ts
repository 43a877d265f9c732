// Backend compatibility: sends `minimal` as `low` and `ultra` as `max`, after the policy has distinguished them (F4.7).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { EFFORT_ALIASES } from '../../proxy/turn/wire/efforts.ts';
import { TURNS } from '../route-groups.ts';
import { fieldEffort, mapEffortUpdates, setEffort } from './effort-field.ts';

export const effortAlias = rule({
  name: 'effort-alias',
  routes: TURNS,
  request({ body }) {
    const alias = EFFORT_ALIASES.get(fieldEffort(body));
    if (alias !== undefined) setEffort(body, alias);
    mapEffortUpdates(body, (effort) => EFFORT_ALIASES.get(effort) ?? effort);
  },
});
