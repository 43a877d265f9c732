// Finds the line and column of a path in the parsed file.
import { isCollection, isMap, isNode, isScalar, isSeq, type Node } from 'yaml';
import type { Finding, Path, Problem } from '../schema/finding.ts';
import { nameOf } from '../schema/setting-names.ts';
import { type Parsed, startOf } from './yaml.ts';

/**
 * Turns problems into findings with the position of the key, the value, or the first key of the mapping.
 * @param data the parsed content, because rows are named by their id
 */
export function locate(
  problems: readonly Problem[],
  { parsed, data, file }: { readonly parsed: Parsed; readonly data: unknown; readonly file: string },
): readonly Finding[] {
  return problems.map(({ path, at = 'value', message, severity = 'error' }) => {
    const { line, col } = parsed.lines.linePos(offsetOf(parsed.document.contents, path, at));
    const name = nameOf(path, data);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), message: name === '' ? message : `${name}: ${message}`, severity };
  });
}

/** The offset of a path. If the path is not in the file, as inside a default, it is the offset of the nearest ancestor. */
function offsetOf(root: Node | null, path: Path, at: NonNullable<Problem['at']>): number {
  let node = root;
  let key: Node | null = null;
  let whole = true;
  for (const step of path) {
    const next = childOf(node, step);
    if (!next) {
      whole = false;
      break;
    }
    ({ node, key } = next);
  }
  const inside = at === 'first-key' || !whole ? firstKeyOf(node) : null;
  if (inside) return startOf(inside);
  return startOf(at === 'key' ? (key ?? node) : (node ?? key));
}

function childOf(node: Node | null, step: string | number): { readonly node: Node | null; readonly key: Node | null } | undefined {
  if (isMap(node)) {
    // If a key occurs twice, the parser uses the last value.
    const pair = node.items.findLast(({ key }) => isScalar(key) && String(key.value ?? '') === String(step));
    if (pair) return { node: isNode(pair.value) ? pair.value : null, key: isNode(pair.key) ? pair.key : null };
  } else if (isSeq(node)) {
    const item = node.items[Number(step)];
    if (isNode(item)) return { node: item, key: null };
  }
  return undefined;
}

function firstKeyOf(node: Node | null): Node | null {
  if (!isCollection(node)) return null;
  const key = isMap(node) ? node.items[0]?.key : undefined;
  return isNode(key) ? key : node;
}
