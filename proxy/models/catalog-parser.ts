// A provider's catalog answer as entries: three shapes are understood, and a bad entry costs only itself (Q12, Q13).
import type { Json, JsonObject } from '../turn/json.ts';
import { isObject } from '../turn/json.ts';
import { type Ceilings, ceilingsOf } from './ceilings.ts';
import { textLength } from './entry-bounds.ts';

export interface CatalogEntry {
  /** The id by which whoever lists the model calls it. */
  readonly id: string;
  /** As the provider sent it, frozen. */
  readonly entry: JsonObject;
  readonly ceilings: Ceilings;
}

export interface ParsedCatalog {
  /** In the provider's order, ids unique. */
  readonly entries: readonly CatalogEntry[];
  /** Bad entries, and what lies beyond the limits. */
  readonly leftOut: number;
  /** Entries whose id had come before; the first one counts. */
  readonly duplicates: number;
}

const MOST_ENTRIES = 2_000;
const MOST_TEXT = 33_554_432;
const ID = /^[^\p{Cc}\p{Cf}\p{Z}]{1,200}$/u;

/** Undefined where nothing can be learnt: no list, or a list of bad entries only. An empty list is an account without models. */
export function parseCatalog(body: unknown): ParsedCatalog | undefined {
  const list = listOf(body);
  if (!list) return undefined;
  const entries = new Map<string, CatalogEntry>();
  let duplicates = 0;
  let room = MOST_TEXT;
  const considered = list.slice(0, MOST_ENTRIES);
  for (const item of considered) {
    const length = textLength(item);
    if (length === undefined || length > room) continue;
    const entry = item as JsonObject;
    const id = idOf(entry);
    const ceilings = ceilingsOf(entry);
    if (id === undefined || ceilings === undefined) continue;
    room -= length;
    if (entries.has(id)) duplicates += 1;
    else entries.set(id, { id, entry, ceilings });
  }
  if (entries.size === 0 && list.length > 0) return undefined;
  return { entries: [...entries.values()], leftOut: list.length - entries.size - duplicates, duplicates };
}

function listOf(body: unknown): readonly unknown[] | undefined {
  if (Array.isArray(body)) return body;
  if (!isObject(body)) return undefined;
  if (Array.isArray(body.models)) return body.models;
  return Array.isArray(body.data) ? body.data : undefined;
}

/** Native catalogs name a model by `slug`, OpenAI-shaped ones by `id`. A name that every object answers to is nobody's model. */
function idOf(entry: JsonObject): string | undefined {
  const id: Json | undefined = entry.slug ?? entry.id;
  return typeof id === 'string' && ID.test(id) && !(id in Object.prototype) ? id : undefined;
}
