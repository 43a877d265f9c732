// Notes in the turn's row the effort that was sent: that of the last update among its items, otherwise of its field (RB15).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { EFFORTS } from '../../proxy/turn/wire/efforts.ts';
import { TURNS } from '../route-groups.ts';
import { effortOf } from './effort-field.ts';

/** The known efforts. Any other word is a client's text, which rows must not contain (S4). */
export const effortRecord = rule({
  name: 'effort-record',
  routes: TURNS,
  request({ body }, turn) {
    const effort = effortOf(body);
    if (typeof effort === 'string' && EFFORTS.includes(effort)) turn.note('effort', effort);
  },
});
