// Parses YAML text with positions, in the subset that a configuration needs.
import { type Document, isMap, isScalar, LineCounter, type Node, type ParsedNode, parseDocument, visit } from 'yaml';
import type { Finding } from '../schema/finding.ts';

export interface Parsed {
  readonly document: Document.Parsed<ParsedNode>;
  readonly lines: LineCounter;
  /** The syntax errors. */
  readonly findings: readonly Finding[];
  /** Whether the content can be checked. False after a syntax error from which the parser cannot recover. */
  readonly readable: boolean;
}

/** Fixed messages by error code. The parser's own messages quote the text, which may be a secret. */
const MESSAGES: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'the name of an alias or anchor is malformed',
  BAD_COLLECTION_TYPE: 'this tag does not fit what follows it',
  BAD_DIRECTIVE: 'this directive is unknown',
  BAD_DQ_ESCAPE: 'a double-quoted text has an escape that YAML does not know; write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'the indentation does not fit, or a bracket is not closed',
  BAD_SCALAR_START: 'a text that begins with this character needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot begin here; is a line indented wrongly, or does a text with a colon need quotes?',
  BLOCK_IN_FLOW: 'an indented block is not allowed inside brackets or braces',
  DUPLICATE_KEY: 'this key occurs twice in its mapping',
  MISSING_CHAR: 'something is missing here: a colon after a key, a comma between items, or a closing quote or bracket',
  MULTILINE_IMPLICIT_KEY: 'a key and its colon must be on one line',
  MULTIPLE_DOCS: 'a second YAML document begins here; a configuration is one document',
  RESOURCE_EXHAUSTION: 'the nesting is too deep',
  TAB_AS_INDENT: 'tabs cannot indent; use spaces',
  UNEXPECTED_TOKEN: 'this does not belong here; does a text with braces, brackets or a colon need quotes?',
  TAG_RESOLVE_FAILED: 'this tag is unknown; a configuration needs none',
};

/** Errors from which the parser recovers, so that the rest of the file is still checked. */
const RECOVERABLE: ReadonlySet<string> = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED', 'BAD_DIRECTIVE']);

/** @param file the file's name in findings */
export function parseYaml(text: string, file: string): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, version: '1.2' });
  const findings: Finding[] = [];
  let readable = true;
  const report = (offset: number, message: string, { fatal }: { readonly fatal: boolean }) => {
    if (fatal) readable = false;
    const { line, col } = lines.linePos(offset);
    // One error may cause several on its line. Only the first is useful.
    if (findings.some((known) => known.line === line && (fatal || known.column === col))) return;
    // After an error without recovery, the parser repeats the message for every further line.
    if (fatal && findings.at(-1)?.message === message) return;
    findings.push({ file, line: Math.max(line, 1), column: Math.max(col, 1), message, severity: 'error' });
  };

  const { contents } = document;
  for (const { code, pos } of [...document.errors, ...document.warnings]) {
    // If the first line has no colon, the parser reads it as the whole document, and refuses what follows.
    if (code === 'UNEXPECTED_TOKEN' && isScalar(contents)) report(startOf(contents), 'a colon is missing after this key', { fatal: true });
    else report(pos[0], MESSAGES[code] ?? 'this is not valid YAML', { fatal: !RECOVERABLE.has(code) });
  }
  visit(document, {
    Alias: (_, alias) => report(startOf(alias), 'aliases are not supported; write the value out', { fatal: true }),
    Pair: (_, { key }) => {
      if (!isScalar(key)) return report(startOf(key as Node | null), 'a key must be a plain word', { fatal: true });
      if (key.value === '<<') return report(startOf(key), 'merge keys are not supported; write the keys out', { fatal: true });
      // A whole number as a key is read as its digits. Tiers are such keys.
      if (typeof key.value === 'string' || (Number.isInteger(key.value) && key.source === String(key.value))) return undefined;
      return report(startOf(key), 'this key is not read as text; quote it', { fatal: false });
    },
  });
  if (readable && !isMap(contents)) {
    report(startOf(contents), contents ? 'a configuration is a mapping of settings' : 'the file is empty', { fatal: true });
  }
  return { document, lines, findings, readable };
}

/** The place of a node in the text. */
export const startOf = (node: Node | null): number => node?.range?.[0] ?? 0;
