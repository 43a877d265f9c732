// The forms of tool output that are compressed, and similar ones that stay unchanged (F7.3).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compressedText } from '../../support/compression.ts';

const numbered = (count: number, line: (i: number) => string): string => Array.from({ length: count }, (_, i) => line(i)).join('\n');
const isKept = (text: string): void => assert.equal(compressedText(text), text);
const firstLine = (text: string): string => compressedText(text).split('\n', 1)[0] ?? '';

const PATH = 'packages/server/src/handlers/session-handler.ts';
const FLAT = numbered(12, (i) => `${PATH}:${i * 7 + 3}: const session${i} = await open();`);

test('[F7.3] path:line: text, with and without a column, is grouped under its path', () => {
  assert.equal(
    compressedText(FLAT),
    `[compressed search results: the matches of a file are below its path]\n${PATH}\n${FLAT.replaceAll(`${PATH}:`, '')}`,
  );
  const columns = numbered(12, (i) => `${PATH}:${i + 1}:${i + 20}: open()`);
  assert.ok(compressedText(columns).endsWith(`\n12:31: open()`));
});

test('a path of Windows is grouped too', () => {
  const text = numbered(12, (i) => `C:\\work\\project\\src\\main.ts:${i + 1}: call(${i})`);
  assert.ok(compressedText(text).includes('\nC:\\work\\project\\src\\main.ts\n1: call(0)\n'));
});

test('[F7.3] NUL-delimited results become the same as those with a colon', () => {
  assert.equal(compressedText(FLAT.replaceAll(`${PATH}:`, `${PATH}\0`)), compressedText(FLAT));
  const columns = numbered(12, (i) => `a b/${PATH}\0${i + 1}:${i + 20}: open()`);
  assert.ok(compressedText(columns).includes(`\na b/${PATH}\n1:20: open()\n`), 'a path with a blank');
});

test('[F7.3] malformed NUL fragments are left as text', () => {
  const nul = FLAT.replaceAll(`${PATH}:`, `${PATH}\0`);
  isKept(`${nul}\nno fragment`);
  isKept(`${nul}\n${PATH}\0not a line: x`);
  isKept(`${nul}\n\x000:5: text`);
  isKept(`${nul}\n${PATH}\x003:x\0y`);
});

test('[F7.3] results below path-like headings are compressed', () => {
  const headed = numbered(3, (f) => `src/part-${f}.ts\n${numbered(30, (i) => `${i + 1}:import { part${f} } from './part.ts';`)}\n`);
  const compressed = compressedText(headed);
  assert.ok(compressed.length < headed.length / 3);
  for (const f of [0, 1, 2]) assert.ok(compressed.includes(`src/part-${f}.ts\n1,2,3,4,5,6,`));
});

test('[F7.3] prose headings with numbered lines below are left as text', () => {
  isKept(numbered(20, (i) => `Step ${i}\n1: open the file\n2: change the same line\n3: change the same line`));
  isKept(`Results\n${numbered(60, () => '12:the same line')}`);
  isKept(numbered(60, (i) => `12:${String(i).padStart(2, '0')}:07: the server is listening on port 4000`));
  isKept(numbered(60, (i) => `2026-01-01T10:${i}:07: the server is listening on port 4000`));
  isKept(numbered(60, (i) => `http://localhost:4000:${i}: the server is listening on port 4000`));
  isKept(numbered(60, (i) => `Note:${i}: the same thing was said before`));
});

test('results mixed with other text keep it in its place, and repeat their path after it', () => {
  const text = `${FLAT}\n… 812 tokens truncated …\n${FLAT}`;
  assert.ok(compressedText(text).includes(`open();\n… 812 tokens truncated …\n${PATH}\n3: const`));
});

test('long results keep every line number, and every text that may report a failure', () => {
  const text = numbered(60, (i) => `${PATH}:${i + 1}: ${i === 45 ? 'throw new error' : `call number ${i}`}`);
  const compressed = compressedText(text);
  assert.ok(compressed.includes('46: throw new error'));
  assert.ok(compressed.includes('[39 more matches, their text left out, at 21 22 23 '));
});

test('a very long line keeps its place, its beginning and its end', () => {
  const text = numbered(8, (i) => `dist/app.min.js:${i + 1}:${'x'.repeat(3_000)}tail`);
  assert.match(
    compressedText(text),
    /\n1:x{240}\[2684 characters left out\]x{76}tail\n|\n1,2,3,4,5,6,7,8:x{240}\[2684 characters left out\]x{76}tail/,
  );
});

const context = (from: number, count: number): string => numbered(count, (i) => ` unchanged line number ${from + i} of the file`);
const HUNK = `@@ -1,21 +1,21 @@ function first() {\n${context(1, 10)}\n-the old line\n+the new line\n${context(12, 10)}`;

test('[F7.3] a minimal unified diff keeps its changes and the lines around them', () => {
  assert.equal(
    compressedText(`--- a/src/first.ts\n+++ b/src/first.ts\n${HUNK}\n`),
    [
      '[compressed diff: ~N stands for N unchanged lines; git\'s own "diff" and "index" lines are left out]',
      '--- a/src/first.ts',
      '+++ b/src/first.ts',
      '@@ -1,21 +1,21 @@ function first() {',
      '~9',
      ' unchanged line number 10 of the file',
      '-the old line',
      '+the new line',
      ' unchanged line number 12 of the file',
      '~9',
      '',
    ].join('\n'),
  );
});

test('a hunk with changes marked inside of lines stays, and so does such a line in any hunk', () => {
  const indented = (from: number, count: number): string => numbered(count, (i) => `    const line${from + i} = unchanged();`);
  const words = '    return [-one + two-]{+one * two+};';
  const hunk = `@@ -1,21 +1,21 @@ class A {\n${indented(1, 10)}\n${words}\n${indented(12, 10)}`;
  assert.equal(compressedText(`--- a/a.ts\n+++ b/a.ts\n${hunk}\n`), `--- a/a.ts\n+++ b/a.ts\n${hunk}\n`);
  const mixed = `@@ -1,22 +1,21 @@\n${context(1, 5)}\n${words}\n${context(7, 5)}\n-the old line\n${context(12, 10)}`;
  assert.ok(compressedText(`--- a/a.ts\n+++ b/a.ts\n${mixed}\n`).includes(`\n${words}\n`));
});

test('[F7.3] additions, deletions, replacements and combined diffs are compressed', () => {
  const of = (header: string, change: string): string => `${header}\n${context(1, 10)}\n${change}\n${context(20, 10)}`;
  const diffs = [
    of('@@ -1,20 +1,22 @@', '+one\n+two'),
    of('@@ -1,22 +1,20 @@', '-one\n-two'),
    of('@@ -1,21 +1,22 @@', '-one\n+two\n+three'),
    `diff --cc a.ts\nindex 1,2..3\n--- a/a.ts\n+++ b/a.ts\n@@@ -1,11 -1,11 +1,12 @@@\n${context(1, 10).replaceAll(/^/gm, ' ')}\n- one\n -two\n++three\n++four`,
  ];
  for (const diff of diffs) {
    assert.match(firstLine(diff), /^\[compressed diff: /, diff);
    for (const changed of diff.match(/^ ?[+-].*$/gm) ?? []) assert.ok(compressedText(diff).includes(`\n${changed}`), changed);
  }
});

test('[F7.3] a long preamble without a git header stays in front of its diff', () => {
  const preamble = numbered(80, (i) => `commit message line ${i}: - one thing + another`);
  assert.ok(compressedText(`${preamble}\n\n--- a/x.ts\n+++ b/x.ts\n${HUNK}`).includes(`\n${preamble}\n\n--- a/x.ts\n`));
});

test('[F7.3] prose with plus and minus lines, and hunks that are cut or miscounted, are left as text', () => {
  isKept(numbered(60, () => '+ the same advantage\n- the same drawback\n an unchanged line'));
  isKept(`the lines begin with @@ -1 +1 @@\n${context(1, 30)}`);
  isKept(HUNK.split('\n').slice(0, -3).join('\n'));
  isKept(HUNK.replace('+the new line\n', 'no sign\n'));
  isKept(`@@ -1,20 @@\n${context(1, 20)}`);
  isKept(`@@@ -1,20 +1,20 @@@\n${context(1, 20)}`);
});

test('a diff with carriage returns, stripped blank lines and missing line ends keeps all its changes', () => {
  const text = `--- a/x\r\n+++ b/x\r\n@@ -1,9 +1,9 @@\r\n one line ${'that is long enough '.repeat(10)}\r\n\r\n\r\n two\r\n-old\r\n\\ No newline at end of file\r\n+new\r\n\\ No newline at end of file\r\n three\r\n\r\n\r\n another line ${'that is long enough '.repeat(10)}\r\n`;
  const compressed = compressedText(text);
  assert.ok(
    compressed.includes('\n two\r\n-old\r\n\\ No newline at end of file\r\n+new\r\n\\ No newline at end of file\r\n three\r\n~3\n'),
  );
});

const passed = numbered(40, (i) => `test ledger::case_${i} ... ok`);
const failed = (name: string): string => `---- ${name} stdout ----\nthread '${name}' panicked at src/lib.rs:9:5:\nleft: 1, right: 2\n`;
const cargo = (failures: number, blocks: string): string =>
  `running 42 tests\n${passed}\n\nfailures:\n\n${blocks}\ntest result: FAILED. 40 passed; ${failures} failed; 0 ignored\n`;

test('[F7.3] a log keeps every failure block when its summary reports them', () => {
  const blocks = `${failed('ledger::one')}\n${failed('ledger::two')}`;
  const compressed = compressedText(cargo(2, blocks));
  assert.ok(compressed.includes(`running 42 tests\n[40 lines left out]\n\nfailures:\n\n${blocks}\ntest result: FAILED.`));
});

test('[F7.3] a log whose summary reports failures that are not all there is left as text', () => {
  isKept(cargo(3, `${failed('ledger::one')}\n${failed('ledger::two')}`));
  isKept(cargo(2, `${failed('ledger::one')}\n${failed('ledger::one')}`));
  isKept(cargo(1, ''));
});

test('[F7.3] lines of a failure stay, even where they look like those of passed tests', () => {
  const printed = numbered(5, (i) => `test printed::case_${i} ... ok`);
  const block = `---- ledger::one stdout ----\n${printed}\n\nthread panicked at src/lib.rs:9:5\n`;
  assert.ok(compressedText(cargo(1, block)).includes(`\n[40 lines left out]\n\nfailures:\n\n${block}\ntest result`));
  const tap = (diagnosis: string): string =>
    `TAP version 13\n${numbered(40, (i) => `ok ${i + 1} - case ${i}`)}\nnot ok 41 - the last case\n  ---\n${diagnosis}\n  ...\n${numbered(20, (i) => `ok ${i + 42} - later ${i}`)}\n# fail 1\n`;
  const diagnosis = numbered(5, (i) => `    ok ${i} - what the child printed`);
  const compressed = compressedText(tap(diagnosis));
  assert.ok(
    compressed.endsWith(`[40 lines left out]\nnot ok 41 - the last case\n  ---\n${diagnosis}\n  ...\n[20 lines left out]\n# fail 1\n`),
  );
});

test('a log with colours and carriage returns is read without them and keeps them', () => {
  const blocks = `${failed('ledger::one')}\n${failed('ledger::two')}`;
  const plain = cargo(2, blocks);
  const coloured = plain
    .replaceAll('... ok', '... \x1b[32mok\x1b[0m')
    .replaceAll('FAILED', '\x1b[31mFAILED\x1b[0m')
    .replaceAll('\n', '\r\n');
  const compressed = compressedText(coloured);
  assert.ok(compressed.includes('[40 lines left out]\n\r\nfailures:\r\n'));
  assert.ok(compressed.includes('test result: \x1b[31mFAILED\x1b[0m.'));
});

test('summaries of several packages add up', () => {
  const log = (last: string): string => `${cargo(1, failed('a::one'))}\n${cargo(1, last)}`;
  assert.match(firstLine(log(failed('b::two'))), /^\[compressed log: /);
  isKept(log(''));
});

test('[F7.3] a log without a summary is left as text', () => {
  isKept(passed);
  isKept(numbered(100, (i) => `2026-01-01T00:00:${i} INFO request served`));
});

test('a log of an unknown tool is compressed by its counts', () => {
  const log = (errors: number): string =>
    `${numbered(50, (i) => `PASS checks/rule-${i}`)}\nERROR checks/rule-x\n  the rule is wrong\n  at line 5\nSummary: 50 passed, ${errors} errors\n`;
  assert.ok(
    compressedText(log(1)).endsWith(
      '[50 lines left out]\nERROR checks/rule-x\n  the rule is wrong\n  at line 5\nSummary: 50 passed, 1 errors\n',
    ),
  );
  isKept(log(2));
});

test('the header that a native client writes above an output stays as it is', () => {
  const header = 'Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 900\nOutput:\n';
  assert.equal(compressedText(header + FLAT), header + compressedText(FLAT));
  assert.equal(compressedText(compressedText(header + FLAT)), compressedText(header + FLAT));
});

test('the other members of JSON that contains an output stay byte for byte', () => {
  const beside = String.raw`, "metadata" : {"took":1.0,"id":12345678901234567890,"most":1e400,"output":"a\u00e9"},"id":1,"id":"\u0041"}`;
  const compressed = compressedText(`{ "output":${JSON.stringify(FLAT)}${beside}`);
  assert.equal(compressed, `{ "output":${JSON.stringify(compressedText(FLAT))}${beside}`);
});

test('of an output that is named twice inside JSON the last one is compressed, because a reader uses that one', () => {
  const output = JSON.stringify(FLAT);
  assert.equal(
    compressedText(`{"output":"first","output":${output}}`),
    `{"output":"first","output":${JSON.stringify(compressedText(FLAT))}}`,
  );
  const last = `{"output":${output},"output":7}`;
  assert.equal(compressedText(last), last);
});

test('an output inside JSON is compressed there, and its metadata stays', () => {
  const text = JSON.stringify({ output: FLAT, metadata: { exit_code: 0, duration_seconds: 0.1 } });
  const compressed = compressedText(text);
  assert.deepEqual(JSON.parse(compressed), { output: compressedText(FLAT), metadata: { exit_code: 0, duration_seconds: 0.1 } });
  assert.equal(compressedText(compressed), compressed);
  isKept(JSON.stringify({ result: FLAT }));
  isKept('{"output": "broken');
});
