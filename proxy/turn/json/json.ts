// JSON values: their types, type guards, parsing without errors, changes by copy, and one canonical form.

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** Nested JSON is never edited in place. A change makes new objects, so that every attempt can start from the same body. */
export interface JsonObject {
  readonly [member: string]: Json | undefined;
}

/** Whether a value is a JSON object, not a list and not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The list itself, or an empty one for any other value. */
export function asList(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}

/** The string itself, or undefined for any other value. */
export function asString(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The number itself, or undefined for any other value and for a number that is infinite in memory. */
export function asNumber(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The count itself, or undefined for any other value, because unknown is not zero (Q18). A count is a whole number of at least 0. */
export function asCount(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** A string that is not blank. */
export function isText(value: Json | undefined): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

/** Whether a member is absent. Null counts as absent (Q15). */
export function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null;
}

/** The value of a text; undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object of a text; undefined if the text is not a JSON object. */
export function parsedObject(text: string): JsonObject | undefined {
  const value = parsedJson(text);
  return isObject(value) ? value : undefined;
}

/** Whether a text is a JSON object. The first character decides about most other texts, which are not parsed. */
export function isObjectText(text: string): boolean {
  return /^\s*\{/.test(text) && parsedObject(text) !== undefined;
}

/** Returns the same list if `change` returned every element unchanged. */
export function mapList(list: readonly Json[], change: (value: Json, index: number) => Json): readonly Json[] {
  let copy: Json[] | undefined;
  // An iterator costs ten times as much, which matters for lists of many thousand values.
  for (let i = 0; i < list.length; i++) {
    const before = list[i] as Json;
    const after = change(before, i);
    if (after === before) continue;
    copy ??= list.slice();
    copy[i] = after;
  }
  return copy ?? list;
}

/** Returns the same object if `change` returned every member unchanged. A member for which it returns undefined is removed. */
export function mapMembers(object: JsonObject, change: (value: Json, name: string) => Json | undefined): JsonObject {
  let copy: Record<string, Json | undefined> | undefined;
  for (const name of Object.keys(object)) {
    const before = object[name];
    if (before === undefined) continue;
    const after = change(before, name);
    if (after === before) continue;
    // The copy has `__proto__` as an own member already, so an assignment does not set the prototype.
    copy ??= { ...object };
    if (after === undefined) delete copy[name];
    else copy[name] = after;
  }
  return copy ?? object;
}

/** JSON with members sorted by UTF-16 code units at every depth, and no white space. Members that are undefined are left out. */
export function canonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members: string[] = [];
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
}
