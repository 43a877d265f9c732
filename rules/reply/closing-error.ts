// Ends a public stream that broke off after visible output with one sanitised error (F1.8, Q17).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { COMPATIBLE_TURNS } from '../route-groups.ts';

/**
 * SSE encodes it as an `error` event that continues the sequence, Chat as an error chunk (F1.9), a websocket as a frame with status 502.
 */
export const closingError = rule({
  name: 'closing-error',
  routes: COMPATIBLE_TURNS,
  end(outcome) {
    if (outcome.kind !== 'cut' || !outcome.shown) return undefined;
    const message = outcome.stopped ? 'The gateway stopped before the reply was complete.' : 'The reply broke off before it was complete.';
    return [new Refusal('server_error', { status: 502, message })];
  },
});
