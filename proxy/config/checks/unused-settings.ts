// Settings that this version accepts and does not act on: an operator who sets one is told, rather than misled.
import { isDeepStrictEqual } from 'node:util';
import type { Path, Problem } from '../finding.ts';
import { resolved, type SchemaNode, schema } from '../schema.ts';
import { isMapping } from './rows.ts';

const MESSAGE = 'this version accepts this setting and does not act on it yet';

/** @param data Content of a file, or a compiled Config; what says no other than its default is not worth a word. */
export function checkInert(data: unknown): readonly Problem[] {
  return [...inert({ node: schema, value: data, path: [], marked: false })];
}

interface Place {
  readonly node: SchemaNode;
  readonly value: unknown;
  readonly path: Path;
  /** By itself, or as part of what is. */
  readonly marked: boolean;
}

function* inert({ node: written, value, path, marked: around }: Place): Generator<Problem> {
  const node = resolved(written);
  const marked = around || node.inert === true;
  if (isMapping(value) && (node.properties || node.additionalProperties)) {
    for (const [key, inner] of Object.entries(value)) {
      const child = node.properties?.[key] ?? node.additionalProperties;
      if (child) yield* inert({ node: child, value: inner, path: [...path, key], marked });
    }
  } else if (marked) {
    if (!isDeepStrictEqual(value, node.default)) yield { path, message: MESSAGE, severity: 'warning' };
  } else if (Array.isArray(value) && node.items) {
    for (const [i, item] of value.entries()) yield* inert({ node: node.items, value: item, path: [...path, i], marked });
  }
}
