// Token counts as accounts state them.
import type { Json } from '../../../turn/json/json.ts';

/** Undefined if it is no whole number, or negative. */
export const asCount = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
