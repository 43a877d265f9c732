// Edits single settings in the text of a file; every other byte stays unchanged.
import { isDeepStrictEqual } from 'node:util';
import { isCollection, isMap, isNode, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import type { Path } from '../schema/finding.ts';
import { removal } from './removal.ts';
import { parseYaml } from './yaml.ts';
import {
  afterColon,
  columnOf,
  contentEnd,
  EditError,
  endOfRow,
  type File,
  isEmpty,
  lineEnd,
  nodeAt,
  pairAt,
  rangeOf,
  type Splice,
} from './yaml-places.ts';
import { block, flow, type Plain } from './yaml-render.ts';

export type Edit =
  /** Sets a scalar or a list of scalars, even if the key does not exist yet. */
  | { readonly set: Path; readonly to: Plain }
  /** Adds a row to the end of a list. */
  | { readonly append: Path; readonly row: Plain }
  /** Removes a key from its mapping, or a row from its list. */
  | { readonly remove: Path };

/**
 * @param text the text of a file that can be parsed
 * @returns the edited text, with its comments and layout; its content was compared with the expected content
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

/** Adds a missing key to its mapping, or the missing mapping to its parent. */
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

  // If there is no list yet, or `[]`, the first row begins a block under the key.
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

/** Applies the edit to plain data, which gives the expected content of the edited text. */
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
  else if ('remove' in edit) removeFrom(parent, last);
  else parent[last] = [...((parent[last] as readonly unknown[] | null) ?? []), edit.row];
  return copy;
}

function removeFrom(parent: Record<string | number, unknown>, last: string | number): void {
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
}
