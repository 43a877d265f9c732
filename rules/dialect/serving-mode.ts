// The turn's serving mode goes onto its request row as it was captured (RM1); it is set per Pool and model, never by a client (F2.4).
import { rule } from '../rule.ts';

export const servingMode = rule({
  name: 'serving-mode',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request(_work, turn) {
    const mode = turn.model?.mode;
    // Unresolved without a routable source (MC7): the turn ends at eligibility, and its row says no mode.
    if (!mode) return;
    turn.note('configured_mode', mode.configured);
    turn.note('effective_mode', mode.effective);
    turn.note('mode_source', mode.source);
  },
});
