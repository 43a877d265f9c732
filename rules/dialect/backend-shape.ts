// What every non-compact dispatch to the backend Responses destination has (F1.4, Q15).

import type { Json } from '../../proxy/turn/json/json.ts';
import { isList, isObject } from '../../proxy/turn/json/json.ts';
import { surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { NON_COMPACT_TURNS, TRANSLATED_IMAGES } from '../route-groups.ts';

const ENCRYPTED_REASONING = 'reasoning.encrypted_content';

/** Translated turns go out streaming and not stored; a client that did not ask for a stream gets the collected reply. */
export const backendShape = rule({
  name: 'backend-shape',
  routes: [...NON_COMPACT_TURNS, ...TRANSLATED_IMAGES],
  edit({ body }, _memory, turn) {
    if (!isObject(body.reasoning)) body.reasoning = {};
    body.include = withEncryptedReasoning(body.include);
    if (surfaceOf(turn.route.kind) === 'native') return;
    body.stream = true;
    body.store = false;
    // Any text is accepted, and an absent one was refused for a time (RB10). Lite has its instructions inside the input.
    if (turn.model?.mode?.effective !== 'lite' && typeof body.instructions !== 'string') body.instructions = '';
  },
});

/** Exactly one entry: the first one keeps its place, others are removed, a missing one is appended. Other entries keep their order. */
function withEncryptedReasoning(include: Json | undefined): readonly Json[] {
  if (!isList(include)) return [ENCRYPTED_REASONING];
  const first = include.indexOf(ENCRYPTED_REASONING);
  if (first < 0) return [...include, ENCRYPTED_REASONING];
  if (first === include.lastIndexOf(ENCRYPTED_REASONING)) return include;
  return include.filter((entry, i) => entry !== ENCRYPTED_REASONING || i === first);
}
