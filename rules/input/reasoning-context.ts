// `reasoning.context` of public Responses is one of three words, whatever its case and the blanks around it (F1.7).

import { isAbsent, isObject } from '../../proxy/turn/json.ts';
import { invalid } from '../invalid.ts';
import { rule } from '../rule.ts';

const CONTEXTS: ReadonlySet<string> = new Set(['auto', 'current_turn', 'all_turns']);

/** Stands before the Lite rewrite, which forces the context (F2.8): a bad one is refused in both modes. */
export const reasoningContext = rule({
  name: 'reasoning-context',
  routes: ['public-responses'],
  request({ body }) {
    const { reasoning } = body;
    if (isAbsent(reasoning)) return undefined;
    if (!isObject(reasoning)) throw invalid('reasoning', 'must be an object');
    const { context } = reasoning;
    if (context === undefined) return undefined;
    const word = typeof context === 'string' ? context.trim().toLowerCase() : '';
    if (!CONTEXTS.has(word)) throw invalid('reasoning.context', 'must be auto, current_turn or all_turns');
    if (word !== context) body.reasoning = { ...reasoning, context: word };
    return undefined;
  },
});
