// The row of a turn has the effort that it was sent with: that of the last update among its items, otherwise of its field (RB15).

import { rule } from '../../proxy/turn/rules/rule.ts';
import { EFFORTS } from '../../proxy/turn/wire/efforts.ts';
import { TURNS } from '../route-groups.ts';
import { effortOf } from './effort-field.ts';

/** Any other word is a text of the client, and rows have none (S4). */
export const effortRecord = rule({
  name: 'effort-record',
  routes: TURNS,
  request({ body }, turn) {
    const effort = effortOf(body);
    if (typeof effort === 'string' && EFFORTS.includes(effort)) turn.note('effort', effort);
  },
});
