// The key's reasoning-effort policy: permits, fills in or replaces, and never clamps (RE1 to RE3, F4.1 to F4.3).
import { Refusal } from '../../proxy/turn/refusal.ts';
import { rule } from '../rule.ts';
import { omittedEffort, permittedEfforts } from './levels.ts';
import { effortPlace } from './place.ts';

/** An effort that the policy sets goes to compact dispatch too (Q16). */
export const effortPolicy = rule({
  name: 'effort-policy',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request({ body }, turn) {
    const policy = turn.key.reasoning_effort;
    if (!policy || !turn.model) return undefined;
    const place = effortPlace(turn.route.kind);
    const asked = place.read(body);
    if ('always' in policy) {
      if (asked !== policy.always) place.write(body, policy.always);
      return undefined;
    }
    if (asked === undefined) {
      const effort = omittedEffort(policy, turn.model.entry);
      if (effort === undefined) throw new Refusal('reasoning_effort_not_allowed', { param: place.param });
      place.write(body, effort);
    } else if (typeof asked !== 'string' || !permittedEfforts(policy, turn.model.entry)?.includes(asked)) {
      throw new Refusal('reasoning_effort_not_allowed', { param: place.param });
    }
    return;
  },
});
