// A public stream that broke off after visible output says so itself, as one sanitised error (F1.8, Q17).
import { Refusal } from '../../proxy/turn/refusal.ts';
import { rule } from '../rule.ts';

/** On SSE the codec makes it an event of type `error` that continues the sequence, on a websocket a frame of status 502. */
export const closingError = rule({
  name: 'closing-error',
  routes: ['public-responses'],
  end(outcome) {
    if (outcome.kind !== 'cut' || !outcome.shown) return undefined;
    return [new Refusal('server_error', { status: 502, message: 'The reply broke off before it was complete.' })];
  },
});
