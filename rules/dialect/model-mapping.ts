// Replaces the model by the account's own name for it, in both modes and on every attempt (F1.5, A10).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { accountsName } from '../helpers/accounts-name.ts';
import { explainPerAccount } from '../helpers/explain.ts';
import { RESPONSES_WORK } from '../route-groups.ts';

export const modelMapping = rule({
  name: 'model-mapping',
  routes: RESPONSES_WORK,
  attempt({ account, body }, _memory, turn) {
    const id = turn.model?.id;
    if (id !== undefined) body.model = accountsName(account, id) ?? id;
  },
  explain: (facts) => explainPerAccount(facts, accountsName),
});
