// Removes from an attempt the members that its account's provider refuses (Q15).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { explainPerAccount } from '../helpers/explain.ts';
import { RESPONSES_WORK } from '../route-groups.ts';

/** Runs before the Lite marker is added, which no setting may remove. */
export const dropFields = rule({
  name: 'drop-fields',
  routes: RESPONSES_WORK,
  apis: ['agent'],
  attempt({ account, body }) {
    for (const field of account.drop_fields) delete body[field];
  },
  explain: (facts) => explainPerAccount(facts, ({ drop_fields }) => drop_fields.join(', ') || undefined),
});
