// Which model a turn is for: named, allowed to the key, known to the Pool; in this order (Q4, F4.4).

import { Refusal } from '../../proxy/turn/refusal.ts';
import type { KeyConfig } from '../../proxy/turn/settings.ts';
import type { ModelView, Turn } from '../../proxy/turn/turn.ts';
import { rule } from '../rule.ts';

/** Whether the key's list allows this id; a key without a list may use every model of its Pool. */
export const allowsModel = (key: KeyConfig, id: string): boolean => key.models?.includes(id) ?? true;

/** The denial comes before the catalog, so that a key learns nothing of models outside its list. */
export const modelAccess = rule({
  name: 'model-access',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request(work, turn) {
    const id = work.body.model;
    if (typeof id !== 'string' || id === '') throw new Refusal('invalid_model', { param: 'model' });
    if (!allowsModel(turn.key, id)) throw new Refusal('model_not_allowed', { param: 'model' });
    const found = turn.findModel(id);
    return found instanceof Promise ? found.then((late) => settle(turn, late)) : settle(turn, found);
  },
});

/** Only a known id is noted: before that it is a client's text of any length (S4). */
function settle(turn: Turn, model: ModelView | undefined): undefined {
  if (!model) throw new Refusal('invalid_model', { param: 'model' });
  turn.model = model;
  turn.note('model', model.id);
}
