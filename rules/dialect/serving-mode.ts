// Notes the serving mode in the turn's request row (RM1). The mode is set per Pool and model, never by a client (F2.4).
import { rule } from '../../proxy/turn/rules/rule.ts';
import { RESPONSES_WORK } from '../route-groups.ts';

export const servingMode = rule({
  name: 'serving-mode',
  routes: RESPONSES_WORK,
  request(_work, turn) {
    const mode = turn.model?.mode;
    // Without a routable source there is no mode (MC7). The turn ends at eligibility, and its row has no mode.
    if (!mode) return;
    turn.note('configured_mode', mode.configured);
    turn.note('effective_mode', mode.effective);
    turn.note('mode_source', mode.source);
  },
  explain: ({ mode }) => mode?.why,
});
