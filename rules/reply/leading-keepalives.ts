// Public streams begin with `response.created`: SDKs fail on a keepalive before it. Later ones pass, and keep idle clients waiting (RB18).

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
