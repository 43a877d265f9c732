// Refuses parameters of the public Responses API whose meaning would be lost here, unless their value is neutral (Q15).
import { type HasEffect, refuseAsking } from '../../proxy/turn/errors/neutral-values.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

const ASKS = new Map<string, HasEffect>([
  ['background', (value) => value === true],
  ['conversation', () => true],
  ['prompt', () => true],
  ['top_logprobs', (value) => value !== 0],
]);

/** Removes neutral values, because agent backends refuse some of these parameters whatever their value. All unknown keys pass. */
export const unsupportedParameters = rule({
  name: 'unsupported-parameters',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    refuseAsking(body, ASKS);
    for (const name of ASKS.keys()) {
      const value = body[name];
      if (value !== undefined && (value === null || value === false || value === 0)) delete body[name];
    }
  },
});
