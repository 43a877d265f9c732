// Reads rows from content that may be invalid, so that a check does not fail because of another error.
import type { Path } from '../schema/finding.ts';

export type Mapping = Readonly<Record<string, unknown>>;

export interface Row {
  readonly path: Path;
  readonly row: Mapping;
}

/** The rows of a list that are mappings, with their paths. Empty if there is no list. */
export function rowsOf(parent: unknown, key: string, at: Path = []): readonly Row[] {
  const list = mapping(parent)[key];
  if (!Array.isArray(list)) return [];
  return list.flatMap((row: unknown, i) => (isMapping(row) ? [{ path: [...at, key, i], row }] : []));
}

/** The strings of a list, with their paths. */
export function textsAt(parent: unknown, key: string, at: Path): readonly { readonly path: Path; readonly text: string }[] {
  const list = mapping(parent)[key];
  if (!Array.isArray(list)) return [];
  return list.flatMap((text: unknown, i) => (typeof text === 'string' ? [{ path: [...at, key, i], text }] : []));
}

export const isMapping = (value: unknown): value is Mapping => typeof value === 'object' && value !== null && !Array.isArray(value);

export const mapping = (value: unknown): Mapping => (isMapping(value) ? value : {});

export const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
