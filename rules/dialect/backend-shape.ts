// Gives every non-compact dispatch the members that the backend Responses destination needs (F1.4, Q15).
import { isList, isObject, type Json } from '../../proxy/turn/json/json.ts';
import { surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { NON_COMPACT_TURNS, TRANSLATED_IMAGES } from '../route-groups.ts';

const ENCRYPTED_REASONING = 'reasoning.encrypted_content';

/** Translated turns are sent streaming and not stored. A client that did not ask for a stream gets the collected reply. */
export const backendShape = rule({
  name: 'backend-shape',
  routes: [...NON_COMPACT_TURNS, ...TRANSLATED_IMAGES],
  edit({ body }, _memory, turn) {
    if (!isObject(body.reasoning)) body.reasoning = {};
    body.include = withEncryptedReasoning(body.include);
    if (surfaceOf(turn.route.kind) === 'native') return;
    body.stream = true;
    body.store = false;
    // The backend accepts any text, but has refused an absent one (RB10). Lite has its instructions inside the input.
    if (turn.model?.mode?.effective !== 'lite' && typeof body.instructions !== 'string') body.instructions = '';
  },
});

/**
 * Keeps exactly one entry: the first one stays in its place, further ones are removed, a missing one is appended. Other entries keep their
 * order.
 */
function withEncryptedReasoning(include: Json | undefined): readonly Json[] {
  if (!isList(include)) return [ENCRYPTED_REASONING];
  const first = include.indexOf(ENCRYPTED_REASONING);
  if (first < 0) return [...include, ENCRYPTED_REASONING];
  if (first === include.lastIndexOf(ENCRYPTED_REASONING)) return include;
  return include.filter((entry, i) => entry !== ENCRYPTED_REASONING || i === first);
}
