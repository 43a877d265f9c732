// Refuses parameters of the public Responses API whose meaning would be lost here, unless their value is neutral (Q15).

import type { Json } from '../../proxy/turn/json.ts';
import { isAbsent } from '../../proxy/turn/json.ts';
import { Refusal } from '../../proxy/turn/refusal.ts';
import { rule } from '../../proxy/turn/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

/** Whether a value asks for something. */
const ASKS: ReadonlyMap<string, (value: Json) => boolean> = new Map<string, (value: Json) => boolean>([
  ['background', (value) => value === true],
  ['conversation', () => true],
  ['prompt', () => true],
  ['top_logprobs', (value) => value !== 0],
]);

/** A null asks for nothing; all other unknown keys pass. */
export const unsupportedParameters = rule({
  name: 'unsupported-parameters',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    for (const [param, asks] of ASKS) {
      const value = body[param];
      if (isAbsent(value) || !asks(value)) continue;
      throw new Refusal('unsupported_parameter', { param, message: `\`${param}\` is not supported.` });
    }
  },
});
