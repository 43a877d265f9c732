// A model without a routable source is refused before anything is reserved or sent (SM5, UA1).
import { noEligibleAccount } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { NATIVE_IMAGES, RESPONSES_WORK } from '../route-groups.ts';

/** Runs after every check that blames the request, because those refusals do not depend on the state of the accounts (Q4). */
export const eligibility = rule({
  name: 'eligibility',
  routes: [...RESPONSES_WORK, ...NATIVE_IMAGES],
  request({ body }, turn) {
    // An image request whose model no catalog has is left to selection.
    if (!turn.model || turn.model.routable) return;
    // Dispatch knows the account of a response or a file. If that account must log in again, the client is asked to restart; otherwise it
    // gets this refusal (F8.2).
    if (turn.fileOwner !== undefined || typeof body.previous_response_id === 'string') return;
    throw noEligibleAccount(turn.recoversIn());
  },
  explain: ({ live }) => live && (live.mode ? 'passes: a source is routable' : 'refuses: 503 no_eligible_account'),
});
