// Settings that this version accepts and does not act on: an operator who sets one is told, rather than misled.
import { isDeepStrictEqual } from 'node:util';
import type { Path, Problem } from '../finding.ts';
import { resolved, type SchemaNode, schema } from '../schema.ts';
import { isMapping } from './rows.ts';

const MESSAGE = 'this version accepts this setting and does not act on it yet';

/** @param data Content of a file, or a compiled Config; what says no other than its default is not worth a word. */
export function checkInert(data: unknown): readonly Problem[] {
  return [...inert(schema, data, [])];
}

function* inert(schemaNode: SchemaNode, value: unknown, path: Path): Generator<Problem> {
  const node = resolved(schemaNode);
  if (node.inert === true) {
    if (!isDeepStrictEqual(value, node.default)) yield { path, message: MESSAGE, severity: 'warning' };
    return;
  }
  if (Array.isArray(value)) {
    if (node.items) for (const [i, item] of value.entries()) yield* inert(node.items, item, [...path, i]);
  } else if (isMapping(value)) {
    for (const [key, inner] of Object.entries(value)) {
      const child = node.properties?.[key] ?? node.additionalProperties;
      if (child) yield* inert(child, inner, [...path, key]);
    }
  }
}
