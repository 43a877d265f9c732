// Applies the status of a route: unsupported rows answer the same to every valid key (S8, E1, ER3).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';

export const routeStatus = rule({
  name: 'route-status',
  routes: '*',
  admit(turn) {
    if (turn.route.status === 'unsupported') throw new Refusal('unsupported_endpoint');
  },
});
