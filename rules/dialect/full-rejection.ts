// Classifies a provider's final refusal, and replaces it under explicit Full (F2.13, ER4, Q2, Q3).
import { blamesAccount, KEPT_STATUSES } from '../../proxy/turn/errors/failure.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { isCompaction } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { SafeFields, Turn } from '../../proxy/turn/turn.ts';
import { RESPONSES_WORK } from '../route-groups.ts';

/**
 * Handles only refusals by status: a refusal inside a 200 is answered by its code, in every mode. Only ordinary Responses HTTP turns under
 * explicit Full get a replaced answer; all others keep the answer of dispatch.
 */
export const fullRejection = rule({
  name: 'full-rejection',
  routes: RESPONSES_WORK,
  refused({ status }, _memory, turn) {
    const errorClass = classOf(status, turn);
    turn.note('error_class', errorClass);
    if (errorClass !== 'full_upstream_rejection') return undefined;
    if (blamesAccount({ status })) return new Refusal('upstream_error');
    return new Refusal('full_upstream_rejection', { status: KEPT_STATUSES.has(status) ? status : 400 });
  },
  explain({ mode }) {
    if (!mode) return undefined;
    return mode.configured === 'full'
      ? 'answers a provider’s 4xx with full_upstream_rejection: the mode is explicit Full'
      : 'classifies a provider’s refusal only in the row: the mode is not explicit Full';
  },
});

function classOf(status: number, turn: Turn): SafeFields['error_class'] {
  if (status === 429) return 'upstream_rate_limited';
  return status < 500 && underExplicitFull(turn) ? 'full_upstream_rejection' : 'upstream_status';
}

/**
 * Whether the operator chose Full and the turn is ordinary: false for an automatic mode that resolved to Full, for compactions (Q33) and
 * for client websockets.
 */
const underExplicitFull = (turn: Turn): boolean =>
  turn.model?.mode?.configured === 'full' && !isCompaction(turn.route.kind) && turn.client === 'http';
