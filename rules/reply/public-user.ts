// Makes public answers and lifecycle events name the client's user instead of the account's owner (S4, Q15).
import { isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

/** Members of a response that repeat those of the request. Providers of personal accounts state the account's own user there. */
const USER_MEMBERS = ['safety_identifier', 'user'] as const;

/** The values that the client sent. */
type Named = Readonly<Record<(typeof USER_MEMBERS)[number], Json>>;

export const publicUser = rule<Named>({
  name: 'public-user',
  routes: PUBLIC_RESPONSES,
  request: ({ body }) => ({ safety_identifier: body.safety_identifier ?? null, user: body.user ?? null }),
  events: ['response.created', 'response.queued', 'response.in_progress', 'response.completed', 'response.incomplete', 'response.failed'],
  event(event, named) {
    const { response } = event.data;
    if (!isObject(response)) return event;
    const own = withUser(response, named);
    return own === response ? event : { ...event, data: { ...event.data, response: own } };
  },
  answer: withUser,
});

/** The response with the client's values; the same object if it names no other user. A member that the provider left out stays absent. */
function withUser(response: JsonObject, named: Named): JsonObject {
  const others = USER_MEMBERS.filter((member) => response[member] !== undefined && response[member] !== named[member]);
  return others.length === 0 ? response : { ...response, ...Object.fromEntries(others.map((member) => [member, named[member]])) };
}
