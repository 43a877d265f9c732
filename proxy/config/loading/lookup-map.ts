// Makes maps in which words of clients are looked up.

/** A map without a prototype, so that a model named `constructor` is not found. */
export function lookupMap<T>(entries: readonly (readonly [string, T])[]): Readonly<Record<string, T>> {
  const map: Record<string, T> = Object.create(null);
  for (const [word, value] of entries) map[word] = value;
  return map;
}
