// Replaces the account's own name of the model by the exposed id in public answers and lifecycle events (Q15).
import { isObject, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

export const publicModel = rule({
  name: 'public-model',
  routes: PUBLIC_RESPONSES,
  events: ['response.created', 'response.queued', 'response.in_progress', 'response.completed', 'response.incomplete', 'response.failed'],
  event(event, _memory, turn) {
    const { response } = event.data;
    if (!isObject(response)) return event;
    const exposed = withModel(response, turn);
    return exposed === response ? event : { ...event, data: { ...event.data, response: exposed } };
  },
  answer: (response, _memory, turn) => withModel(response, turn),
});

function withModel(response: JsonObject, turn: Turn): JsonObject {
  const id = turn.model?.id;
  return id === undefined || response.model === id ? response : { ...response, model: id };
}
