// A model without a routable source is refused before anything is reserved or sent (SM5, UA1).
import { noEligibleAccount } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { NATIVE_IMAGES, RESPONSES_WORK } from '../route-groups.ts';

/** Runs after every check that blames the request: those refusals do not depend on the state of the accounts (Q4). */
export const eligibility = rule({
  name: 'eligibility',
  routes: [...RESPONSES_WORK, ...NATIVE_IMAGES],
  request({ body }, turn) {
    // Only selection decides about an image request that no model of the catalog hosts.
    if (!turn.model || turn.model.routable) return;
    // Dispatch knows the account of a response or a file: one that must log in again asks for a restart, any other gets this refusal (F8.2).
    if (turn.fileOwner !== undefined || typeof body.previous_response_id === 'string') return;
    throw noEligibleAccount(turn.recoversIn());
  },
  explain: ({ live }) => live && (live.mode ? 'passes: a source is routable' : 'refuses: 503 no_eligible_account'),
});
