// Parses a provider's catalog answer, in any of three shapes, into entries. Only invalid entries are left out (Q12, Q13).
import { isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { DeclaredModel } from '../../turn/provider/api-account.ts';
import { type Ceilings, ceilingsOf } from './ceilings.ts';

export interface CatalogEntry {
  /** The provider's id, or the exposed id once it has been mapped. */
  readonly id: string;
  /** The entry as the provider sent it, frozen at every depth (MC6). */
  readonly fields: JsonObject;
  readonly ceilings: Ceilings;
  /** What is known of the model at an API account; absent for agent accounts. */
  readonly own?: AccountModel;
  /** What the operator declares for native lists. */
  readonly declared?: Pick<DeclaredModel, 'like' | 'native'> | undefined;
}

export interface ParsedCatalog {
  /** Entries in the provider's order, with unique ids. */
  readonly entries: readonly CatalogEntry[];
  /** The number of entries that are invalid or beyond the limits. */
  readonly leftOut: number;
  /** The number of entries that repeat the id of an earlier one, which counts. */
  readonly duplicates: number;
}

const MAX_ENTRIES = 2_000;
const MAX_CATALOG_TEXT = 33_554_432;
const MAX_ENTRY_TEXT = 1_048_576;
const MAX_ENTRY_VALUES = 50_000;
const MAX_ENTRY_DEPTH = 32;
/** The end of the 64-bit integers that native clients read. A larger JSON number does not fit. */
const INTEGER_END = 2 ** 63;
const ID = /^[^\p{Cc}\p{Cf}\p{Z}]{1,200}$/u;

/** The catalog. Undefined if the body has no list, or only invalid entries. An empty list is an account without models. */
export function parseCatalog(body: unknown): ParsedCatalog | undefined {
  const list = listOf(body);
  if (!list) return undefined;
  const entries = new Map<string, CatalogEntry>();
  let duplicates = 0;
  let room = MAX_CATALOG_TEXT;
  for (const item of list.slice(0, MAX_ENTRIES)) {
    const length = validTextLength(item);
    if (length === undefined || length > room) continue;
    const fields = item as JsonObject;
    const id = idOf(fields);
    const ceilings = ceilingsOf(fields);
    if (id === undefined || ceilings === undefined) continue;
    room -= length;
    if (entries.has(id)) duplicates += 1;
    else entries.set(id, { id, fields, ceilings });
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

/** The id: `slug` in native catalogs, `id` in OpenAI-shaped ones. A name that every object inherits is refused. */
function idOf(fields: JsonObject): string | undefined {
  const id: Json | undefined = fields.slug ?? fields.id;
  return typeof id === 'string' && ID.test(id) && !(id in Object.prototype) ? id : undefined;
}

/**
 * The length of all texts and member names of an entry, in UTF-16 units. Undefined if the entry is invalid: not an object, too deep, too
 * large, or with a `__proto__` member, an infinite number or a lone surrogate. Such values would change when they are written again, or
 * would not be JSON for a strict reader, and native clients would drop the whole list. Freezes the entry.
 */
function validTextLength(entry: unknown): number | undefined {
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
      if (depth > MAX_ENTRY_DEPTH) return undefined;
      for (const [name, member] of Object.entries(Object.freeze(value))) {
        if (name === '__proto__' || !name.isWellFormed()) return undefined;
        text += name.length;
        open.push({ value: member, depth: depth + 1 });
      }
    }
    if (values + open.length > MAX_ENTRY_VALUES || text > MAX_ENTRY_TEXT) return undefined;
  }
  return text;
}
