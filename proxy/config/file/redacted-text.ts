// The text of a file with private values and unknown settings hidden. Every line stays at its place.
import { isMap, isPair, isScalar, isSeq, Lexer, type Node, type Scalar, visit } from 'yaml';
import { PRIVATE } from '../config-diff.ts';
import type { Path } from '../schema/finding.ts';
import { resolved, type SchemaNode, schema } from '../schema/schema.ts';
import { looksSecret } from '../schema/setting-names.ts';
import { parseYaml } from './yaml.ts';

const HIDDEN = '(private)';

/** Marks of the lexer for a document, an error and a scalar, which are not in the text. */
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f']);

type Place = readonly [from: number, to: number];

/** Undefined if the file cannot be parsed, because its secrets can then not be recognised. */
export function redactedText(text: string): string | undefined {
  const { document, readable } = parseYaml(text, '');
  if (!readable) return undefined;
  const hidden: Place[] = [...wordsOfComments(text)];
  visit(document, {
    Scalar(key, node, ancestors) {
      if (!node.range || node.source === '' || isShown(node, key === 'key', pathOf(node, ancestors))) return;
      hidden.push([node.range[0], node.range[1]]);
    },
  });
  let shown = text;
  for (const [from, to] of hidden.toSorted((a, b) => b[0] - a[0])) {
    // A replaced text keeps its number of lines.
    const breaks = text.slice(from, to).match(/\r?\n/g)?.join('') ?? '';
    shown = `${shown.slice(0, from)}${HIDDEN}${breaks}${shown.slice(to)}`;
  }
  return shown;
}

/**
 * Whether a scalar is shown. A key is shown if it is a short word. A value is shown only if the schema has its setting and it is not
 * private.
 */
function isShown({ value }: Scalar, isKey: boolean, path: Path): boolean {
  if (typeof value === 'string' && (looksSecret(value) || isLong(value))) return false;
  if (isKey) return true;
  return !path.some((step) => typeof step === 'string' && PRIVATE.has(step)) && isSetting(path);
}

/** Whether a text has a run of letters and digits that is too long for a word. */
const isLong = (text: string): boolean => /[A-Za-z0-9]{20}/.test(text);

function isSetting(path: Path): boolean {
  let node: SchemaNode | undefined = schema;
  for (const step of path) {
    const { items, properties = {}, additionalProperties = false }: SchemaNode = resolved(node);
    node = typeof step === 'number' ? items : (properties[step] ?? (additionalProperties || undefined));
    if (!node) return false;
  }
  return true;
}

/** The path of a value. A key has the path of its value. */
function pathOf(node: Node, ancestors: readonly unknown[]): Path {
  return ancestors.flatMap((parent, i): Path => {
    const child = ancestors[i + 1] ?? node;
    if (isSeq(parent)) return [parent.items.indexOf(child)];
    if (!isPair(parent) || !isMap(ancestors[i - 1])) return [];
    return isScalar(parent.key) ? [String(parent.key.value)] : [];
  });
}

/** The words in comments that may be secrets, such as a key in a setting that was commented out. */
function* wordsOfComments(text: string): Generator<Place> {
  let at = 0;
  for (const token of new Lexer().lex(text)) {
    if (MARKS.has(token)) continue;
    if (token.startsWith('#')) {
      for (const { 0: word, index } of token.matchAll(/[^\s"'[\](){},]+/g)) {
        if (looksSecret(word) || isLong(word)) yield [at + index, at + index + word.length];
      }
    }
    at += token.length;
  }
}
