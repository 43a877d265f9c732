// Removes a key from its mapping, or a row from its list, together with its lines and comments.
import { isMap, isNode, isSeq, type Node, type YAMLSeq } from 'yaml';
import type { Path } from '../schema/finding.ts';
import { afterColon, contentEnd, EditError, endOfRow, type File, lineEnd, nodeAt, pairAt, rangeOf, type Splice } from './yaml-places.ts';

export function removal(file: File, path: Path): readonly Splice[] {
  const parent = nodeAt(file.root, path.slice(0, -1));
  if (isSeq(parent)) return rowRemoval(file, path, parent);
  const pair = pairAt(file.root, path);
  if (!isMap(parent) || !pair) throw new EditError('the key to remove does not exist');
  const index = parent.items.indexOf(pair as (typeof parent.items)[number]);
  const [from] = rangeOf(pair.key as Node);
  if (parent.flow) {
    const next = parent.items[index + 1];
    if (next) return [{ from, to: rangeOf(next.key as Node)[0], text: '' }];
    const previous = parent.items[index - 1];
    if (previous) return [{ from: contentEnd(previous), to: contentEnd(pair), text: '' }];
    return [{ from: rangeOf(parent)[0], to: rangeOf(parent)[1], text: '{}' }];
  }
  const line = file.text.lastIndexOf('\n', from - 1) + 1;
  if (file.text.slice(line, from).trim() !== '') throw new EditError('the first key of a row cannot be removed');
  return linesOf(file, path, { from: line, end: contentEnd(pair), isLast: parent.items.length === 1, nothing: '{}' });
}

function rowRemoval(file: File, path: Path, list: YAMLSeq): readonly Splice[] {
  const index = Number(path.at(-1));
  const row = list.items[index];
  if (!isNode(row)) throw new EditError('the row to remove does not exist');
  const [from] = rangeOf(row);
  if (list.flow) {
    const next = list.items[index + 1];
    if (isNode(next)) return [{ from, to: rangeOf(next)[0], text: '' }];
    const previous = list.items[index - 1];
    if (isNode(previous)) return [{ from: contentEnd(previous), to: contentEnd(row), text: '' }];
    return [{ from: rangeOf(list)[0], to: rangeOf(list)[1], text: '[]' }];
  }
  const line = file.text.lastIndexOf('\n', from - 1) + 1;
  const dash = /^ *- *$/.exec(file.text.slice(line, from));
  if (!dash) throw new EditError('this row does not begin on a line of its own');
  const end = endOfRow(file.text, contentEnd(row), dash[0].indexOf('-'));
  return linesOf(file, path, { from: line, end, isLast: list.items.length === 1, nothing: '[]' });
}

interface Lines {
  /** The start of the first line. */
  readonly from: number;
  /** A place on the last line. */
  readonly end: number;
  /** Whether the mapping or list contains nothing else. */
  readonly isLast: boolean;
  /** The value that then has to remain for the key. */
  readonly nothing: '{}' | '[]';
}

function linesOf({ text, root, eol }: File, path: Path, { from, end, isLast, nothing }: Lines): readonly Splice[] {
  const lines = { from, to: Math.min(lineEnd(text, end) + eol.length, text.length), text: '' };
  if (!isLast) return [lines];
  const holder = pairAt(root, path.slice(0, -1));
  if (!holder || !isNode(holder.key)) throw new EditError('the last setting of a file cannot be removed');
  const colon = afterColon(holder);
  return [{ from: colon, to: colon, text: ` ${nothing}` }, lines];
}
