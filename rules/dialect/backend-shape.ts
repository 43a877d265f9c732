// What every non-compact dispatch to the backend Responses destination bears, whoever asked for it (F1.4, Q15).
import type { Json } from '../../proxy/turn/json.ts';
import { isList, isObject } from '../../proxy/turn/json.ts';
import { rule } from '../rule.ts';

const ENCRYPTED_REASONING = 'reasoning.encrypted_content';

/** Translated turns stream and are not stored, whatever the client said: it gets the collected reply if it asked for no stream. */
export const backendShape = rule({
  name: 'backend-shape',
  routes: ['responses', 'public-responses', 'chat'],
  request({ body }, turn) {
    if (!isObject(body.reasoning)) body.reasoning = {};
    body.include = withEncryptedReasoning(body.include);
    if (turn.route.kind === 'responses') return;
    body.stream = true;
    body.store = false;
  },
});

/** Exactly one entry: the first stays where it is, later ones go, a missing one comes last; the others keep their order. */
function withEncryptedReasoning(include: Json | undefined): readonly Json[] {
  if (!isList(include)) return [ENCRYPTED_REASONING];
  const first = include.indexOf(ENCRYPTED_REASONING);
  if (first < 0) return [...include, ENCRYPTED_REASONING];
  if (first === include.lastIndexOf(ENCRYPTED_REASONING)) return include;
  return include.filter((entry, i) => entry !== ENCRYPTED_REASONING || i === first);
}
