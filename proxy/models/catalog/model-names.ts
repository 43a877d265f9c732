// Maps account-side model names to exposed ids, before any other use of an entry (Q12).
import type { JsonObject } from '../../turn/json/json.ts';
import type { CatalogEntry } from './catalog-parser.ts';

/**
 * The account's models by exposed id, in the provider's order. An upstream model with several exposed ids appears under each of them. A
 * model whose name is the exposed id of another model is left out, because a turn for that name would go to the other one.
 * @param models maps exposed ids to the account's names
 */
export function exposedEntries(
  entries: readonly CatalogEntry[],
  models: Readonly<Record<string, string>>,
): ReadonlyMap<string, CatalogEntry> {
  const exposedBy = new Map<string, string[]>();
  for (const [exposed, upstream] of Object.entries(models)) exposedBy.set(upstream, [...(exposedBy.get(upstream) ?? []), exposed]);
  const exposed = new Map<string, CatalogEntry>();
  for (const entry of entries) {
    for (const id of exposedBy.get(entry.id) ?? (Object.hasOwn(models, entry.id) ? [] : [entry.id])) exposed.set(id, renamed(entry, id));
  }
  return exposed;
}

function renamed(entry: CatalogEntry, id: string): CatalogEntry {
  if (id === entry.id) return entry;
  const fields: JsonObject = Object.freeze({
    ...entry.fields,
    ...(entry.fields.slug === entry.id ? { slug: id } : {}),
    ...(entry.fields.id === entry.id ? { id } : {}),
  });
  return { ...entry, id, fields };
}
