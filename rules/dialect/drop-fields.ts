// What an account's provider refuses is left out of its attempts (Q15); before the marker is added, which no setting may drop.
import { rule } from '../rule.ts';

export const dropFields = rule({
  name: 'drop-fields',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  attempt({ account, body }) {
    for (const field of account.drop_fields) delete body[field];
  },
});
