// Translates the requests of surfaces with an API of their own (Chat, Messages, images) into requests of the Responses API, so that all
// rules below read one shape (D4, D10).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { TRANSLATED } from '../route-groups.ts';

/**
 * Runs after the check of the model, whose refusals come before those of the body's content (Q4). Refusals of later rules name members as
 * the client does.
 */
export const translation = rule({
  name: 'translation',
  routes: TRANSLATED,
  request(work, turn) {
    turn.decode(work);
  },
});
