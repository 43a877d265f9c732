// Removes keepalives before `response.created` from public streams, because SDKs fail on them. Later keepalives pass, and keep idle clients
// connected (RB18).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

export const leadingKeepalives = rule<{ begun: boolean }>({
  name: 'leading-keepalives',
  routes: PUBLIC_RESPONSES,
  request: () => ({ begun: false }),
  events: ['response.created', 'keepalive'],
  event(event, memory) {
    if (event.type !== 'keepalive') memory.begun = true;
    return memory.begun ? event : null;
  },
});
