// Checks that the model of a turn is named, permitted to the key and known to the Pool, in this order (Q4, F4.4).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { ModelView, Turn } from '../../proxy/turn/turn.ts';
import { requireAllowed } from '../helpers/key-policy.ts';
import { ALIASED, TURNS } from '../route-groups.ts';

export const modelAccess = rule({
  name: 'model-access',
  routes: [...TURNS, 'count-tokens'],
  request(work, turn) {
    const id = work.body.model;
    if (typeof id !== 'string' || id === '') throw new Refusal('invalid_model', { param: 'model', message: 'The request names no model.' });
    requireAllowed(id, turn);
    const found = turn.findModel(id);
    return found instanceof Promise ? found.then((late) => setModel(turn, late)) : setModel(turn, found);
  },
  explain({ key, model }) {
    if (model === undefined) return key?.models && `allows: ${key.models.join(', ') || 'nothing'}`;
    return key?.models?.includes(model) === false ? 'refuses: 403 model_not_allowed' : `allows ${model} if the Pool has it`;
  },
});

/** Whether clients recognise an unknown model by the status, as those of Messages do (AM21). */
const isAliased = ({ route: { kind } }: Turn): boolean => kind !== undefined && ALIASED.includes(kind);

const UNKNOWN = 'The requested model is unknown: GET /v1/models lists the models of this key.';

/** Notes only a known id, because an unknown one is a client's text of any length (S4). */
function setModel(turn: Turn, model: ModelView | undefined): void {
  // A model of embeddings takes no turns (AA79).
  if (!model || model.kind === 'embedding')
    throw new Refusal('invalid_model', { param: 'model', message: UNKNOWN, ...(isAliased(turn) ? { status: 404 } : {}) });
  turn.model = model;
  turn.note('model', model.id);
}
