// Each account gets the model by its own name for it, in both modes and on every attempt anew (F1.5, A10).
import { rule } from '../rule.ts';

export const modelMapping = rule({
  name: 'model-mapping',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  attempt({ account, body }, _memory, turn) {
    const id = turn.model?.id;
    if (id === undefined) return;
    // An id is a catalog's text: `constructor` is no name that an operator mapped.
    const mapped = Object.hasOwn(account.models, id) ? account.models[id] : undefined;
    body.model = mapped ?? id;
  },
});
