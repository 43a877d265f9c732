// The key's output-token policy: more is refused, and what a client leaves open is closed at the key's maximum (CR1).

import { isAbsent } from '../../proxy/turn/json.ts';
import type { RouteKind } from '../../proxy/turn/kinds.ts';
import { Refusal } from '../../proxy/turn/refusal.ts';
import { invalid } from '../invalid.ts';
import { rule } from '../rule.ts';

/** The names that the surface has for it; the first is the one that is filled in. */
const fieldsOf = (kind: RouteKind | undefined): readonly [string, ...string[]] =>
  kind === 'chat' ? ['max_completion_tokens', 'max_tokens'] : ['max_output_tokens'];

/**
 * An omitted value is set, since a model's own maximum may lie above the key's; an account whose provider refuses the field drops it
 * again (`drop_fields`), and there the policy holds for what is asked and reserved alone. Not set on compact dispatch: nothing is
 * added there but an effort (F1.4), and a cut compaction is worth nothing.
 */
export const outputTokens = rule({
  name: 'output-tokens',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request({ body }, turn) {
    const policy = turn.key.output_tokens;
    if (!policy) return undefined;
    const fields = fieldsOf(turn.route.kind);
    let open = true;
    for (const param of fields) {
      const asked = body[param];
      if (isAbsent(asked)) continue;
      open = false;
      // A string or a negative number would slip past the comparison, and mean anything to a provider.
      if (typeof asked !== 'number' || !Number.isSafeInteger(asked) || asked < 1) {
        throw invalid(param, 'must be a positive integer');
      }
      if (asked > policy.max) throw new Refusal('output_tokens_not_allowed', { param });
    }
    if (open && turn.route.kind !== 'compact') body[fields[0]] = policy.max;
    return;
  },
});
