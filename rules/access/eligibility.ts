// A model without a routable source is refused before anything is reserved or sent (SM5, UA1).
import { plainRefusal, Refusal } from '../../proxy/turn/refusal.ts';
import { rule } from '../../proxy/turn/rule.ts';
import { NATIVE_IMAGES, RESPONSES_WORK } from '../route-groups.ts';

/** Runs after every check that blames the request: those refusals do not depend on the state of the accounts (Q4). */
export const eligibility = rule({
  name: 'eligibility',
  routes: [...RESPONSES_WORK, ...NATIVE_IMAGES],
  request(_work, turn) {
    // Only selection decides about an image request that no model of the catalog hosts.
    if (!turn.model || turn.model.routable) return;
    const retryAfterMs = turn.recoversIn();
    throw retryAfterMs === undefined ? plainRefusal('no_eligible_account') : new Refusal('no_eligible_account', { retryAfterMs });
  },
  explain: ({ live }) => live && (live.mode ? 'passes: a source is routable' : 'refuses: 503 no_eligible_account'),
});
