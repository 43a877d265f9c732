// Removes from an attempt the members that its account's provider refuses (Q15).

import { rule } from '../../proxy/turn/rule.ts';
import { explainPerAccount } from '../helpers/explain.ts';
import { TURNS } from '../route-groups.ts';

/** Runs before the Lite marker is added, which no setting may remove. */
export const dropFields = rule({
  name: 'drop-fields',
  routes: TURNS,
  attempt({ account, body }) {
    for (const field of account.drop_fields) delete body[field];
  },
  explain: (facts) => explainPerAccount(facts, ({ drop_fields }) => drop_fields.join(', ') || undefined),
});
