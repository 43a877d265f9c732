// Edits single settings in the text of a file; every other byte stays unchanged.
import { isDeepStrictEqual } from 'node:util';
import { isCollection, isMap, isNode, isPair, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import type { Path } from '../schema/finding.ts';
import { parseYaml } from './yaml.ts';
import { block, flow, type Plain } from './yaml-render.ts';

export type Edit =
  /** Sets a scalar or a list of scalars, whether or not the key exists. */
  | { readonly set: Path; readonly to: Plain }
  /** Adds a row to the end of a list. */
  | { readonly append: Path; readonly row: Plain }
  /** Removes a key from its mapping. */
  | { readonly remove: Path };

/** The edit is not possible in the layout of this file; the file is unchanged. */
export class EditError extends Error {
  override readonly name = 'EditError';
}

/**
 * @param text of a file that parses
 * @returns the edited text with comments and layout kept; its content was compared with the expected content
 * @throws {EditError}
 */
export function editText(text: string, edit: Edit): string {
  const result = applyToText(text, edit);
  const before: unknown = parseYaml(text, '').document.toJS();
  const parsed = parseYaml(result, '');
  if (!parsed.readable || !isDeepStrictEqual(parsed.document.toJS(), applyToData(before, edit))) {
    throw new EditError('the layout of this file cannot be edited safely; make the change by hand');
  }
  return result;
}

/** Replaces the text between two offsets. */
interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function applyToText(text: string, edit: Edit): string {
  const root = parseYaml(text, '').document.contents as Node | null;
  const file: File = { text, root, eol: text.includes('\r\n') ? '\r\n' : '\n' };
  const splices =
    'set' in edit
      ? setting(file, edit.set, edit.to)
      : 'append' in edit
        ? appending(file, edit.append, edit.row)
        : removal(file, edit.remove);
  let result = text;
  for (const splice of splices.toSorted((a, b) => b.from - a.from)) {
    result = result.slice(0, splice.from) + splice.text.replaceAll('\n', file.eol) + result.slice(splice.to);
  }
  return result;
}

interface File {
  readonly text: string;
  readonly root: Node | null;
  readonly eol: string;
}

function setting(file: File, path: Path, to: Plain): readonly Splice[] {
  const pair = pairAt(file.root, path);
  if (!pair) return adding(file, path, to);
  const value = isNode(pair.value) ? pair.value : null;
  if (value && isCollection(value) && !value.flow) throw new EditError('a value of several lines cannot be replaced');
  if (!value || isEmpty(value)) {
    const from = afterColon(pair);
    return [{ from, to: from, text: ` ${flow(to)}` }];
  }
  const [from, end] = rangeOf(value);
  return [{ from, to: end, text: flow(to) }];
}

/** Adds a missing pair to its mapping, or the missing mapping to its parent. */
function adding(file: File, path: Path, to: Plain): readonly Splice[] {
  const parentPath = path.slice(0, -1);
  const key = String(path.at(-1));
  const parent = nodeAt(file.root, parentPath);
  if (!isMap(parent)) {
    if (path.length === 0) throw new EditError('the file is not a mapping');
    return setting(file, parentPath, { [key]: to });
  }
  if (parent.flow) return [afterLastInFlow(parent, `${flow(key)}: ${flow(to)}`)];
  const first = parent.items[0]?.key as Node | undefined;
  const indent = columnOf(file.text, rangeOf(first ?? null)[0]);
  const at = lineEnd(file.text, contentEnd(parent));
  return [{ from: at, to: at, text: `\n${' '.repeat(indent)}${block({ [key]: to }, indent)}` }];
}

function appending(file: File, path: Path, row: Plain): readonly Splice[] {
  const list = nodeAt(file.root, path);
  if (isSeq(list) && !list.flow) {
    const dash = columnOf(file.text, rangeOf(list)[0]);
    const at = endOfRow(file.text, contentEnd(list), dash);
    return [{ from: at, to: at, text: `\n${item(row, dash)}` }];
  }
  if (isSeq(list) && (list.items.length > 0 || typeof row !== 'object')) return [afterLastInFlow(list, flow(row))];

  // No list yet, or `[]`: the first row begins a block under the key.
  const pair = pairAt(file.root, path);
  if (!pair || !isNode(pair.key)) return adding(file, path, [row]);
  const parent = nodeAt(file.root, path.slice(0, -1));
  if (isMap(parent) && parent.flow) return setting(file, path, [row]);
  const [from, end] = isCollection(pair.value) ? rangeOf(pair.value) : [afterColon(pair), afterColon(pair)];
  const start = file.text.slice(0, from).trimEnd().length;
  const at = lineEnd(file.text, end);
  const indent = columnOf(file.text, rangeOf(pair.key)[0]) + 2;
  return [
    { from: Math.min(start, from), to: end, text: '' },
    { from: at, to: at, text: `\n${item(row, indent)}` },
  ];
}

function removal(file: File, path: Path): readonly Splice[] {
  const parent = nodeAt(file.root, path.slice(0, -1));
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
  const lines = { from: line, to: Math.min(lineEnd(file.text, contentEnd(pair)) + file.eol.length, file.text.length), text: '' };
  if (parent.items.length > 1) return [lines];
  // When the last pair is removed, `{}` remains: the key needs a value.
  const holder = pairAt(file.root, path.slice(0, -1));
  if (!holder || !isNode(holder.key)) throw new EditError('the last setting of a file cannot be removed');
  const colon = afterColon(holder);
  return [{ from: colon, to: colon, text: ' {}' }, lines];
}

function afterLastInFlow(list: YAMLMap | YAMLSeq, text: string): Splice {
  const last = list.items.at(-1);
  if (last === undefined) {
    const [open, close] = rangeOf(list);
    return { from: open, to: close, text: isMap(list) ? `{ ${text} }` : `[${text}]` };
  }
  const at = contentEnd(last);
  return { from: at, to: at, text: `, ${text}` };
}

const item = (row: Plain, indent: number): string => `${' '.repeat(indent)}- ${block(row, indent + 2)}`;

function pairAt(root: Node | null, path: Path): Pair | undefined {
  const parent = nodeAt(root, path.slice(0, -1));
  if (!isMap(parent)) return undefined;
  return parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
}

function nodeAt(root: Node | null, path: Path): Node | null {
  let node = root;
  for (const step of path) {
    const next: unknown = isCollection(node) ? node.get(step, true) : null;
    node = isNode(next) ? next : null;
  }
  return node;
}

/** The end of a node's text, without the comments and line breaks after it. */
function contentEnd(node: unknown): number {
  if (isPair(node)) return isNode(node.value) && !isEmpty(node.value) ? contentEnd(node.value) : afterColon(node);
  if (isCollection(node) && !node.flow) return contentEnd(node.items.at(-1));
  return rangeOf(isNode(node) ? node : null)[1];
}

/** The position of a value that is not written. */
const afterColon = (pair: Pair): number => rangeOf(isNode(pair.key) ? pair.key : null)[1] + 1;

const isEmpty = (node: Node): boolean => isScalar(node) && node.value === null && node.source === '';

/** The end of the line including comments, and of the comment lines below that are indented into the row. */
function endOfRow(text: string, offset: number, dash: number): number {
  let end = lineEnd(text, offset);
  for (;;) {
    const next = /^\r?\n( *)#[^\n]*/.exec(text.slice(end));
    if (!next || (next[1]?.length ?? 0) <= dash) return end;
    end = lineEnd(text, end + next[0].trimEnd().length);
  }
}

/** The end of the line before its break. The range of a text block includes the break that ends it. */
function lineEnd(text: string, end: number): number {
  const offset = text[end - 1] === '\n' ? text.slice(0, end).trimEnd().length : end;
  const at = text.indexOf('\n', offset);
  if (at < 0) return text.length;
  return text[at - 1] === '\r' && at > offset ? at - 1 : at;
}

const columnOf = (text: string, offset: number): number => offset - (text.lastIndexOf('\n', offset - 1) + 1);

function rangeOf(node: Node | null): readonly [number, number] {
  if (!node?.range) throw new EditError('the place of the change cannot be found');
  return [node.range[0], node.range[1]];
}

/** The same edit on plain data: the expected content of the edited text. */
function applyToData(data: unknown, edit: Edit): unknown {
  const copy = structuredClone(data);
  const path = 'set' in edit ? edit.set : 'append' in edit ? edit.append : edit.remove;
  const last = path.at(-1);
  if (last === undefined) throw new EditError('a whole file cannot be replaced by an edit');
  let parent = copy as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) {
    parent[step] ??= {};
    parent = parent[step] as Record<string | number, unknown>;
  }
  if ('set' in edit) parent[last] = structuredClone(edit.to);
  else if ('remove' in edit) delete parent[last];
  else parent[last] = [...((parent[last] as readonly unknown[] | null) ?? []), edit.row];
  return copy;
}
