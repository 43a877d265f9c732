// How a provider's final refusal is classed, and what a client is told under explicit Full (F2.13, ER4, Q2, Q3).
import { Refusal } from '../../proxy/turn/refusal.ts';
import type { SafeFields, Turn } from '../../proxy/turn/turn.ts';
import { rule } from '../rule.ts';

/** Statuses that keep their number; any other 4xx becomes a 400. */
const KEPT = new Set([400, 404, 409, 413, 422]);

/** These blame the account, and never reach a client as such (Q3). */
const BLAMES_ACCOUNT = new Set([401, 402, 403, 407]);

/**
 * For refusals by status: one inside a 200 is told by its code, in every mode alike. Anything but an ordinary Responses HTTP turn
 * under explicit Full keeps the answer that the core gives every refusal.
 */
export const fullRejection = rule({
  name: 'full-rejection',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  refused({ status }, _memory, turn) {
    const errorClass = classOf(status, turn);
    turn.note('error_class', errorClass);
    if (errorClass !== 'full_upstream_rejection') return undefined;
    if (BLAMES_ACCOUNT.has(status)) return new Refusal('upstream_error');
    return new Refusal('full_upstream_rejection', { status: KEPT.has(status) ? status : 400 });
  },
});

function classOf(status: number, turn: Turn): SafeFields['error_class'] {
  if (status === 429) return 'upstream_rate_limited';
  return status < 500 && underExplicitFull(turn) ? 'full_upstream_rejection' : 'upstream_status';
}

/** Not auto that resolved to Full, not compact (Q33), not a client's websocket. */
const underExplicitFull = (turn: Turn): boolean =>
  turn.model?.mode?.configured === 'full' && turn.route.kind !== 'compact' && turn.client === 'http';
