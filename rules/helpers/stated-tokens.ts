// A number of tokens as a provider states it.
import type { Json } from '../../proxy/turn/json/json.ts';

/** The count; undefined for a value that is no count, because unknown is not zero (Q18). */
export const tokenCount = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
