// Tool output for tests of request compression: the corpus of real tools, and its compression without a turn.
import { readFileSync } from 'node:fs';
import { tokensOfText } from '../../proxy/tokenizer/token-count.ts';
import { compressText } from '../../rules/compression/compress-text.ts';

/** The outputs of real tools by file name, with their names in docs/compression.md. */
const CORPUS = {
  'search-flat.txt': '`grep -rn`',
  'search-context.txt': '`grep -rn -C2`',
  'search-nul.txt': '`grep -rnZ`',
  'search-heading.txt': '`git grep -n --heading`',
  'search-heading-dense.txt': '`git grep -n --heading`, many matches a file',
  'search-column.txt': '`git grep -n --column`',
  'diff-git.txt': '`git diff`',
  'diff-show.txt': '`git show`',
  'diff-log.txt': '`git log -p`',
  'diff-minimal.txt': '`git diff -U0`',
  'diff-combined.txt': '`git show --cc` of a merge',
  'log-node-tap.txt': '`node --test`, TAP',
  'log-node-spec.txt': '`node --test`',
  'log-npm-test.txt': '`npm test`',
  'log-npm-install.txt': '`npm install --loglevel http`',
  'log-pytest.txt': '`pytest -v`',
  'log-unittest.txt': '`python -m unittest -v`',
  'log-cargo-test.txt': '`cargo test`',
  'log-cargo-build.txt': '`cargo build` with errors',
  'log-tsc.txt': '`tsc`',
} as const;

export type CorpusFile = keyof typeof CORPUS;

export const CORPUS_FILES = Object.keys(CORPUS) as readonly CorpusFile[];

export const corpusText = (file: CorpusFile): string => readFileSync(new URL(`../fixtures/tool-output/${file}`, import.meta.url), 'utf8');

/** The text of one output after compression. */
export function compressedText(text: string): string {
  const steps = compressText(text);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The table of savings for docs/compression.md. */
export function savingsTable(): string {
  const rows = CORPUS_FILES.map((file) => {
    const before = corpusText(file);
    const after = compressedText(before);
    const tokens = [before, after].map((text) => tokensOfText(text, () => true) ?? 0);
    const saved = (from: number, to: number): string => `${Math.round(100 - (100 * to) / from)} %`;
    const bytes = [before, after].map((text) => Buffer.byteLength(text));
    return `| ${CORPUS[file]} | ${tokens[0]} | ${tokens[1]} | ${saved(tokens[0] ?? 0, tokens[1] ?? 0)} | ${saved(bytes[0] ?? 0, bytes[1] ?? 0)} |`;
  });
  return ['| output of | tokens before | after | tokens saved | bytes saved |', '| --- | --- | --- | --- | --- |', ...rows].join('\n');
}
