// Renders plain values as YAML in the style of config.yaml: rows as blocks, nested values on one line.
import { stringify } from 'yaml';

export type Plain = string | number | boolean | readonly Plain[] | { readonly [key: string]: Plain };

/** A value on one line: `{ model-a: lite }`, `[a, b]`. Strings are quoted if YAML would read another type. */
export function flow(value: Plain): string {
  if (isList(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value === 'object') {
    const members = Object.entries(value).map(([key, inner]) => `${flow(key)}: ${flow(inner)}`);
    return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
  }
  // Rendered as an item of a list, so that a string gets the quotes that brackets and commas require.
  return stringify([value], { collectionStyle: 'flow', flowCollectionPadding: false, lineWidth: 0 }).trim().slice(1, -1);
}

/** A mapping as lines. The first line has no indent, because it follows a dash or an indented position. Lists of rows are blocks too. */
export function block(value: Plain, indent: number): string {
  if (typeof value !== 'object' || isList(value)) return flow(value);
  const pad = ' '.repeat(indent);
  return Object.entries(value)
    .map(([key, inner]) => `${flow(key)}:${isRows(inner) ? rows(inner, indent + 2) : ` ${flow(inner)}`}`)
    .join(`\n${pad}`);
}

const rows = (list: readonly Plain[], indent: number): string =>
  list.map((row) => `\n${' '.repeat(indent)}- ${block(row, indent + 2)}`).join('');

const isRows = (value: Plain): value is readonly Plain[] =>
  isList(value) && value.length > 0 && value.every((row) => typeof row === 'object');

const isList = (value: Plain): value is readonly Plain[] => Array.isArray(value);
