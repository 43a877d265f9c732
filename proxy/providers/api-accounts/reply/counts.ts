// Token counts as accounts state them.
import type { Json } from '../../../turn/json/json.ts';

/** The count; undefined if the value is not a whole number or is negative. */
export const asCount = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
