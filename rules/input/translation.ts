// Translates the requests of surfaces with an API of their own (Chat, images) into requests of the Responses API: all rules below read one
// shape (D4, D10).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { TRANSLATED } from '../route-groups.ts';

/** After the model, whose refusals come before those of the body's content (Q4). Refusals of later rules get the client's names of members. */
export const translation = rule({
  name: 'translation',
  routes: TRANSLATED,
  request(work, turn) {
    turn.decode(work);
  },
});
