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
    // Not deleted, because V8 then handles the whole body more slowly.
    for (const field of account.drop_fields) if (body[field] !== undefined) body[field] = undefined;
  },
  explain: (facts) => explainPerAccount(facts, ({ drop_fields }) => drop_fields.join(', ') || undefined),
});
