// Removes events of the backend's own family, such as quota and metadata, from public streams (Q15, Q8).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

export const agentEvents = rule({
  name: 'agent-events',
  routes: PUBLIC_RESPONSES,
  events: ['agent.*'],
  event: () => null,
});
