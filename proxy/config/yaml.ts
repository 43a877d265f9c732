// Reads YAML text into a document that knows its positions, in the plain subset that a configuration needs.
import { type Document, isMap, isScalar, LineCounter, type Node, type ParsedNode, parseDocument, visit } from 'yaml';
import type { Finding } from './finding.ts';

export interface Parsed {
  readonly document: Document.Parsed<ParsedNode>;
  readonly lines: LineCounter;
  /** Syntax only; whether the content makes sense is checked elsewhere. */
  readonly findings: readonly Finding[];
  /** Whether the document is sound enough that checking its content would not report ghosts. */
  readonly readable: boolean;
}

/** The parser's own messages quote the text around a fault, which may be a secret: so each of its codes has a fixed sentence here. */
const SENTENCES: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'the name of an alias or anchor is malformed',
  BAD_COLLECTION_TYPE: 'this tag does not fit what follows it',
  BAD_DIRECTIVE: 'this directive is unknown',
  BAD_DQ_ESCAPE: 'a double-quoted text has an escape that YAML does not know; write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'the indentation does not fit, or a bracket is not closed',
  BAD_SCALAR_START: 'a text that begins with this character needs quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot begin here; is a line indented wrongly, or does a text with a colon need quotes?',
  BLOCK_IN_FLOW: 'an indented block cannot stand inside brackets or braces',
  DUPLICATE_KEY: 'this key stands twice in its mapping',
  MISSING_CHAR: 'something is missing here: a colon after a key, a comma between items, or a closing quote or bracket',
  MULTILINE_IMPLICIT_KEY: 'a key and its colon must stand on one line',
  MULTIPLE_DOCS: 'a second YAML document begins here; a configuration is one document',
  RESOURCE_EXHAUSTION: 'the nesting is too deep',
  TAB_AS_INDENT: 'tabs cannot indent; use spaces',
  UNEXPECTED_TOKEN: 'this does not belong here; does a text with braces, brackets or a colon need quotes?',
  TAG_RESOLVE_FAILED: 'this tag is unknown; a configuration needs none',
};

/** Faults of which the parser recovers without guessing: the rest of the file is still worth checking. */
const RECOVERABLE: ReadonlySet<string> = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED', 'BAD_DIRECTIVE']);

/** @param file How findings name the file. */
export function parseYaml(text: string, file: string): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, version: '1.2' });
  const findings: Finding[] = [];
  let readable = true;
  const report = (offset: number, message: string, { fatal }: { readonly fatal: boolean }) => {
    if (fatal) readable = false;
    const { line, col } = lines.linePos(offset);
    // One slip trips the parser several times on its line; the first message is the useful one.
    if (findings.some((known) => known.line === line && (fatal || known.column === col))) return;
    // After a fault that it cannot see past, the parser stumbles over every further line in the same way.
    if (fatal && findings.at(-1)?.message === message) return;
    findings.push({ file, line: Math.max(line, 1), column: Math.max(col, 1), message, severity: 'error' });
  };

  for (const { code, pos } of [...document.errors, ...document.warnings]) {
    report(pos[0], SENTENCES[code] ?? 'this is not valid YAML', { fatal: !RECOVERABLE.has(code) });
  }
  visit(document, {
    Alias: (_, alias) => report(startOf(alias), 'aliases are not followed here; write the value out', { fatal: true }),
    Pair: (_, { key }) => {
      if (!isScalar(key)) return report(startOf(key as Node | null), 'a key must be a plain word', { fatal: true });
      if (key.value === '<<') return report(startOf(key), 'merge keys are not followed here; write the keys out', { fatal: true });
      if (typeof key.value === 'string') return undefined;
      return report(startOf(key), 'this key is not read as text; quote it', { fatal: false });
    },
  });
  const { contents } = document;
  if (readable && !isMap(contents)) {
    report(startOf(contents), contents ? 'a configuration is a mapping of settings' : 'the file is empty', { fatal: true });
  }
  return { document, lines, findings, readable };
}

const startOf = (node: Node | null): number => node?.range?.[0] ?? 0;
