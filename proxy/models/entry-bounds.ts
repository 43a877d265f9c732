// What a provider's entry must be before any field is read: JSON of sane size that can be told on without changing its meaning.

import { isObject } from '../turn/json.ts';

const DEEPEST = 32;
const MOST_VALUES = 50_000;
const MOST_TEXT = 1_048_576;
/** From here on a JSON number no longer fits the 64-bit integers that native clients read. */
const INTEGER_END = 2 ** 63;

/**
 * The length of the entry's texts and names, in UTF-16 units; undefined where the entry is not sound: no object, too deep, too
 * large, a `__proto__` member, a number that came out infinite, or a lone surrogate. Each of these would be a different value, or
 * no JSON at all for a strict reader, once it is written again; and one such entry makes native clients drop the whole list.
 * Freezes what it walks over, so that pristine entries stay so (MC6).
 */
export function textLength(entry: unknown): number | undefined {
  if (!isObject(entry)) return undefined;
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: entry, depth: 1 }];
  let values = 0;
  let text = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    values += 1;
    if (typeof value === 'string') {
      if (!value.isWellFormed()) return undefined;
      text += value.length;
    } else if (typeof value === 'number') {
      if (!(Math.abs(value) < INTEGER_END)) return undefined;
    } else if (typeof value === 'object' && value !== null) {
      if (depth > DEEPEST) return undefined;
      for (const [name, member] of Object.entries(Object.freeze(value))) {
        if (name === '__proto__' || !name.isWellFormed()) return undefined;
        text += name.length;
        open.push({ value: member, depth: depth + 1 });
      }
    }
    if (values + open.length > MOST_VALUES || text > MOST_TEXT) return undefined;
  }
  return text;
}
