// Account-side model names mapped back to exposed ids, before anything else looks at an entry (Q12).
import type { JsonObject } from '../turn/json.ts';
import type { CatalogEntry } from './catalog-parser.ts';

/**
 * The account's models by exposed id, in the provider's order. An upstream model with several exposed ids stands under each. One
 * whose own name the account exposes for another model is left out: a turn for that name would go to the other.
 * @param models exposed id to the account's own name
 */
export function exposedEntries(
  entries: readonly CatalogEntry[],
  models: Readonly<Record<string, string>>,
): ReadonlyMap<string, CatalogEntry> {
  const exposedBy = new Map<string, string[]>();
  for (const [exposed, upstream] of Object.entries(models)) exposedBy.set(upstream, [...(exposedBy.get(upstream) ?? []), exposed]);
  const exposed = new Map<string, CatalogEntry>();
  for (const known of entries) {
    for (const id of exposedBy.get(known.id) ?? (Object.hasOwn(models, known.id) ? [] : [known.id])) exposed.set(id, renamed(known, id));
  }
  return exposed;
}

function renamed(known: CatalogEntry, id: string): CatalogEntry {
  if (id === known.id) return known;
  const entry: JsonObject = Object.freeze({
    ...known.entry,
    ...(known.entry.slug === known.id ? { slug: id } : {}),
    ...(known.entry.id === known.id ? { id } : {}),
  });
  return { ...known, id, entry };
}
