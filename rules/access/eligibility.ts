// A model without a routable source is refused before anything is reserved or sent (SM5, UA1).
import { plainRefusal, Refusal } from '../../proxy/turn/refusal.ts';
import { rule } from '../rule.ts';

/** Stands after every check that blames the request, since those answers hold whatever the accounts' state (Q4). */
export const eligibility = rule({
  name: 'eligibility',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request(_work, turn) {
    if (turn.model?.routable) return;
    const retryAfterMs = turn.recoversIn();
    throw retryAfterMs === undefined ? plainRefusal('no_eligible_account') : new Refusal('no_eligible_account', { retryAfterMs });
  },
});
