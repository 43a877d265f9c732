// Checks that `reasoning.context` of public Responses is one of three words, in any case, with or without surrounding blanks (F1.7).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { isAbsent, isObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

const CONTEXTS: ReadonlySet<string> = new Set(['auto', 'current_turn', 'all_turns']);

/** Runs before the Lite rewrite, which forces the context (F2.8), so that a bad value is refused in both modes. */
export const reasoningContext = rule({
  name: 'reasoning-context',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    const { reasoning } = body;
    if (isAbsent(reasoning)) return;
    if (!isObject(reasoning)) throw invalidRequest('reasoning', 'must be an object');
    const { context } = reasoning;
    if (context === undefined) return;
    const word = typeof context === 'string' ? context.trim().toLowerCase() : '';
    if (!CONTEXTS.has(word)) throw invalidRequest('reasoning.context', 'must be auto, current_turn or all_turns');
    if (word !== context) body.reasoning = { ...reasoning, context: word };
  },
});
