// Reading JSON of unknown shape.
import type { Json } from '../turn/json.ts';

/** The list itself, or an empty one for anything else. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
