// Which command lines read a file (F7.4): the parser of shell words handles quotes, wrappers and here-documents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentsReadFile, readsFile } from '../../../rules/compression/file-reads.ts';
import { readShell } from '../../../rules/compression/shell-words.ts';

const READS: Readonly<Record<string, readonly string[]>> = {
  'direct reads': ['cat a.ts', 'nl -ba a.ts', 'head -50 a.ts', 'tail -n 5 a.ts', '/bin/cat a.ts', 'cat <a.ts', 'cat a.ts 2>/dev/null'],
  'print-only sed': [
    "sed -n '1,200p' a.ts",
    'sed -ne 1,5p a.ts',
    "sed -n -e '1,5p' -e '9p' a.ts",
    "sed -n '/a\\/b/,/c/p' a.ts",
    "sed -n '5{p;q}' a.ts",
    "sed -n '$p' a.ts",
    'sed --quiet 1~2p a.ts',
    'sed -n "$from,$to p" a.ts',
    'sed 10q a.ts',
    "sed -n '5,+3p; 20,$p' a.ts",
  ],
  'pipelines of reads': ["nl -ba a.ts | sed -n '5,9p'", 'cat a.ts | head -20', 'cat a.ts |& tail -5'],
  'quoted and escaped names': ['c"a"t a.ts', "'cat' a.ts", '\\cat a.ts', "$'cat' a.ts", 'c\\\nat a.ts'],
  'reads inside shells, lists and blocks': [
    'bash -lc "cat a.ts"',
    "sh -c 'cd a && cat a.ts'",
    'cd a && cat a.ts',
    'git diff; cat a.ts',
    'for f in a b; do cat $f; done',
    'if true; then cat a.ts; fi',
    '{ cat a.ts; }',
    '(cat a.ts)',
    'echo hi # comment\ncat a.ts',
  ],
  'reads behind other commands': ['FOO=1 cat a.ts', 'timeout 5 cat a.ts', 'sudo -u me cat a.ts', 'xargs cat', 'env A=1 nl a.ts'],
  'lines that cannot be read': [
    "cat 'unclosed",
    'echo "$(cat a.ts',
    '$COMMAND a.ts',
    "$'\\x63at' a.ts",
    '{cat,a.ts}',
    'bash -c "$SCRIPT"',
    "npm test <<'E'\nopen",
  ],
};

const OTHERS: readonly string[] = [
  "echo 'cat a.ts'",
  'grep "cat foo" a.ts',
  'git log --grep=cat',
  'rg cat',
  'git diff | cat',
  'git diff | head -50',
  'cargo test 2>&1 | tail -50',
  'cat a.ts | grep x',
  'cat a.ts | wc -l',
  "sed 's/a/b/' a.ts",
  "sed -n 's/a/b/p' a.ts",
  "sed -n '1,5w out' a.ts",
  'sed -i -n 1,5p a.ts',
  'sed -f script a.ts',
  'sed p a.ts',
  'npm test',
  "python - <<'E'\ncat a.ts\nE",
  'python - <<-E\n\tcat a.ts\n\tE\nnpm test',
  'concat a.ts',
  '# cat a.ts',
  'bash -lc "npm test"',
  'bash build.sh',
  'git diff $(git merge-base a b)',
  'git diff `git merge-base a b` -- "$(ls | head -1)"',
  'diff <(sort a) <(sort b)',
  'FOO=1',
  '',
];

for (const [what, lines] of Object.entries(READS)) {
  test(`[F7.4] file reads: ${what}`, () => {
    for (const line of lines) assert.ok(readsFile(line), line);
  });
}

test('[F7.4] other commands read no file, with any arguments', () => {
  for (const line of OTHERS) assert.ok(!readsFile(line), line);
});

test('a list of arguments is not read by a shell', () => {
  assert.ok(argumentsReadFile(['cat', 'a.ts']));
  assert.ok(argumentsReadFile(['bash', '-lc', "nl a.ts | sed -n '1,5p'"]));
  assert.ok(!argumentsReadFile(['echo', '; cat a.ts']));
  assert.ok(!argumentsReadFile(['rg', 'cat']));
});

test('words have their quotes resolved, and redirections are not words', () => {
  assert.deepEqual(readShell(`a 'b c' "d \\"e" f\\ g 2>&1 >out < in h`), [[['a', 'b c', 'd "e', 'f g', 'h']]]);
  assert.deepEqual(readShell('a | b && c; d & e'), [[['a'], ['b']], [['c']], [['d']], [['e']]]);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a parameter of the shell
  assert.deepEqual(readShell('a "$b" *.ts ${c:-"}"} $(d (e) "f)")'), [[['a', undefined, undefined, undefined, undefined]]]);
});

test('hostile lines end', () => {
  const lines = [
    '$('.repeat(8_000),
    '"$('.repeat(4_000),
    'xargs '.repeat(2_700),
    `sed -n '5${' '.repeat(16_000)}x'`,
    'a|'.repeat(8_000),
    "bash -c 'x' ".repeat(1_300),
    '('.repeat(16_000),
    `sed -n '${'5;'.repeat(8_000)}'`,
    'x'.repeat(1_000_000),
  ];
  for (const line of lines) assert.equal(typeof readsFile(line), 'boolean');
});
