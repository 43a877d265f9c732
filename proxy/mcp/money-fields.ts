// Prices and the caps of higher tiers, in the form that tools return.
import type { ExplainedCap } from '../explain/facts.ts';
import { integer, nullable, number, object, oneOf, type ValueOf } from '../turn/json/field-schemas.ts';

export const PRICES = object(
  { input: number('Of input.'), cached_input: number('Of cached input.'), output: number('Of output.') },
  'USD per million tokens; null where there is no price.',
);

export const CAP = object({
  tier: nullable(integer('The tier that it caps; null: all tiers above 0 together.')),
  window: oneOf(['day', 'month'], 'Of UTC.'),
  max: number('US dollars that may be spent in this window.'),
  spent: nullable(number('Spent so far, at all nodes.')),
  left: nullable(number('What is left of it.')),
});

export const shownCap = ({ tier, window, max, spent, left }: ExplainedCap): ValueOf<typeof CAP> => ({ tier, window, max, spent, left });
