// Places in the text of a YAML file: nodes by path, the ends of their lines, and pieces of text to replace.
import { isCollection, isMap, isNode, isPair, isScalar, type Node, type Pair } from 'yaml';
import type { Path } from '../schema/finding.ts';

/** Thrown if the edit is not possible in the layout of this file. The file is unchanged. */
export class EditError extends Error {
  override readonly name: string = 'EditError';
}

/** Thrown if another program saved the file during the edit. The file has the content of that program. */
export class FileChanged extends EditError {
  override readonly name = 'FileChanged';
}

/** Replaces the text between two offsets. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** A file during an edit. */
export interface File {
  readonly text: string;
  readonly root: Node | null;
  readonly eol: string;
}

export function pairAt(root: Node | null, path: Path): Pair | undefined {
  const parent = nodeAt(root, path.slice(0, -1));
  if (!isMap(parent)) return undefined;
  return parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
}

export function nodeAt(root: Node | null, path: Path): Node | null {
  let node = root;
  for (const step of path) {
    const next: unknown = isCollection(node) ? node.get(step, true) : null;
    node = isNode(next) ? next : null;
  }
  return node;
}

/** The end of a node's text, without the comments and line breaks after it. */
export function contentEnd(node: unknown): number {
  if (isPair(node)) return isNode(node.value) && !isEmpty(node.value) ? contentEnd(node.value) : afterColon(node);
  if (isCollection(node) && !node.flow) return contentEnd(node.items.at(-1));
  return rangeOf(isNode(node) ? node : null)[1];
}

/** The place at which a missing value has to be written. */
export const afterColon = (pair: Pair): number => rangeOf(isNode(pair.key) ? pair.key : null)[1] + 1;

export const isEmpty = (node: Node): boolean => isScalar(node) && node.value === null && node.source === '';

/** The end of the line with its comment, and of the comment lines below that are indented as part of the row. */
export function endOfRow(text: string, offset: number, dash: number): number {
  let end = lineEnd(text, offset);
  for (;;) {
    const next = /^\r?\n( *)#[^\n]*/.exec(text.slice(end));
    if (!next || (next[1]?.length ?? 0) <= dash) return end;
    end = lineEnd(text, end + next[0].trimEnd().length);
  }
}

/** The end of the line before its line break. The range of a text block includes the break that ends it. */
export function lineEnd(text: string, end: number): number {
  const offset = text[end - 1] === '\n' ? text.slice(0, end).trimEnd().length : end;
  const at = text.indexOf('\n', offset);
  if (at < 0) return text.length;
  return text[at - 1] === '\r' && at > offset ? at - 1 : at;
}

export const columnOf = (text: string, offset: number): number => offset - (text.lastIndexOf('\n', offset - 1) + 1);

export function rangeOf(node: Node | null): readonly [number, number] {
  if (!node?.range) throw new EditError('the place of the change cannot be found');
  return [node.range[0], node.range[1]];
}
