// Applies the key's reasoning-effort policy: it permits, fills in or replaces an effort, and never clamps it (RE1 to RE3, F4.1 to F4.3,
// RB15).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import type { Json } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { omittedEffort, permittedEfforts } from '../helpers/key-policy.ts';
import { TURNS } from '../route-groups.ts';
import { EFFORT, effortUpdatesOf, fieldEffort, mapEffortUpdates, setEffort } from './effort-field.ts';

/** An effort that the policy sets is sent in compactions too (Q16). */
export const effortPolicy = rule({
  name: 'effort-policy',
  routes: TURNS,
  request({ body }, turn) {
    const policy = turn.key.reasoning_effort;
    if (!policy || !turn.model) return;
    const asked = fieldEffort(body);
    if ('always' in policy) {
      if (asked !== policy.always) setEffort(body, policy.always);
      mapEffortUpdates(body, () => policy.always);
      return;
    }
    const permitted = permittedEfforts(policy, turn.model.entry);
    const refuseOthers = (effort: Json, param: string): void => {
      if (typeof effort !== 'string' || !permitted?.includes(effort)) throw new Refusal('reasoning_effort_not_allowed', { param });
    };
    if (asked === undefined) {
      const effort = omittedEffort(policy, turn.model.entry);
      if (effort === undefined) throw new Refusal('reasoning_effort_not_allowed', { param: EFFORT });
      setEffort(body, effort);
    } else refuseOthers(asked, EFFORT);
    for (const { effort, param } of effortUpdatesOf(body)) refuseOthers(effort, param);
  },
  explain({ key, live }) {
    if (!key) return undefined;
    const policy = key.reasoning_effort;
    if (!policy) return `does nothing: key ${key.id} has no effort policy`;
    if ('always' in policy) return `sets the effort to ${policy.always}`;
    if (!live?.entry) return `permits efforts up to ${policy.allow_up_to}`;
    const permitted = permittedEfforts(policy, live.entry) ?? [];
    if (permitted.length === 0) return `permits no effort of this model up to ${policy.allow_up_to}`;
    return `permits ${permitted.join(', ')}; an omitted effort becomes ${omittedEffort(policy, live.entry)}`;
  },
});
