// Warns about settings that differ from their default and that this version does not use.
import { isDeepStrictEqual } from 'node:util';
import type { Path, Problem } from '../finding.ts';
import { resolved, type SchemaNode, schema } from '../schema.ts';
import { isMapping } from './rows.ts';

const MESSAGE = 'this version accepts this setting but does not use it yet';

/** @param data content of a file, or a compiled Config */
export function checkUnused(data: unknown): readonly Problem[] {
  return [...unusedIn({ node: schema, value: data, path: [], marked: false })];
}

interface Place {
  readonly node: SchemaNode;
  readonly value: unknown;
  readonly path: Path;
  /** Whether the schema marks this node, or one around it, as unused. */
  readonly marked: boolean;
}

function* unusedIn({ node: written, value, path, marked: around }: Place): Generator<Problem> {
  const node = resolved(written);
  const marked = around || node.unused === true;
  if (isMapping(value) && (node.properties || node.additionalProperties)) {
    for (const [key, inner] of Object.entries(value)) {
      const child = node.properties?.[key] ?? node.additionalProperties;
      if (child) yield* unusedIn({ node: child, value: inner, path: [...path, key], marked });
    }
  } else if (marked) {
    if (!isDeepStrictEqual(value, node.default)) yield { path, message: MESSAGE, severity: 'warning' };
  } else if (Array.isArray(value) && node.items) {
    for (const [i, item] of value.entries()) yield* unusedIn({ node: node.items, value: item, path: [...path, i], marked });
  }
}
