// Checks free text for literal secrets and for `${…}`, which is not interpolated.
import type { Path, Problem } from '../schema/finding.ts';
import { looksSecret } from '../schema/setting-names.ts';

export function checkLiterals(data: unknown): readonly Problem[] {
  return [...scan(data, [])];
}

function* scan(value: unknown, path: Path): Generator<Problem> {
  if (typeof value === 'string') yield* literal(value, { path });
  else if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* scan(item, [...path, i]);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      yield* literal(key, { path: [...path, key], at: 'key' });
      yield* scan(item, [...path, key]);
    }
  }
}

function* literal(text: string, place: Pick<Problem, 'path' | 'at'>): Generator<Problem> {
  if (looksSecret(text)) yield { ...place, message: 'this looks like a secret, and secrets must not be in this file' };
  else if (/\$\{[^}]*\}/.test(text))
    yield { ...place, message: 'nothing is interpolated in this file: the text is used as written', severity: 'warning' };
}
