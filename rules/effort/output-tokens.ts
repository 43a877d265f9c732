// Applies the key's output-token policy: refuses a larger cap, and sets a missing one to the key's maximum (CR1).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { isAbsent } from '../../proxy/turn/json/json.ts';
import { isCompaction } from '../../proxy/turn/routes/kinds.ts';
import { rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import { endsInTrigger } from '../../proxy/turn/trigger-item.ts';
import { RESPONSES_WORK } from '../route-groups.ts';

const CAP = 'max_output_tokens';

/**
 * An omitted cap is set, because a model's own maximum may be above the key's. Agent backends refuse the member by name (RB8), so only an
 * account whose `keep_fields` has it gets a cap that its client did not write. If an account does not get the cap, dispatch ends the reply
 * there. The cap is not set on compactions, native trigger turns among them: only an effort is added there (F1.4), and a truncated compaction
 * is useless.
 */
export const outputTokens = rule({
  name: 'output-tokens',
  routes: RESPONSES_WORK,
  request({ body }, turn) {
    const policy = turn.key.output_tokens;
    if (!policy) return SKIP;
    const asked = body[CAP];
    if (isAbsent(asked)) {
      if (isCompaction(turn.route.kind) || endsInTrigger(body)) return SKIP;
      body[CAP] = policy.max;
      return undefined;
    }
    // A string or a negative number would pass the comparison below, and providers may interpret it in any way.
    if (typeof asked !== 'number' || !Number.isSafeInteger(asked) || asked < 1) throw invalidRequest(CAP, 'must be a positive integer');
    if (asked > policy.max) throw new Refusal('output_tokens_not_allowed', { param: CAP });
    return SKIP;
  },
  apis: ['agent'],
  attempt({ account, body }) {
    // Not deleted, because V8 then handles the whole body more slowly.
    if (!account.keep_fields.includes(CAP)) body[CAP] = undefined;
  },
  explain({ key }) {
    if (!key) return undefined;
    return key.output_tokens ? `caps output at ${key.output_tokens.max} tokens` : `does nothing: key ${key.id} has no output-token policy`;
  },
});
