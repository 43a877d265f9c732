// Each account gets the model by its own name for it, in both modes and on every attempt (F1.5, A10).

import { rule } from '../../proxy/turn/rule.ts';
import type { AccountView } from '../../proxy/turn/turn.ts';
import { explainPerAccount } from '../helpers/explain.ts';
import { TURNS } from '../route-groups.ts';

export const modelMapping = rule({
  name: 'model-mapping',
  routes: TURNS,
  attempt({ account, body }, _memory, turn) {
    const id = turn.model?.id;
    if (id !== undefined) body.model = mappedId(account, id) ?? id;
  },
  explain: (facts) => explainPerAccount(facts, mappedId),
});

/** An id is a catalog's text and may be the name of an inherited member, such as `constructor`. */
const mappedId = ({ models }: AccountView, id: string): string | undefined => (Object.hasOwn(models, id) ? models[id] : undefined);
