// Texts that would make a careless scanner take quadratic time, or throw: every scan ends, and text that is not tool output stays
// unchanged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compressText } from '../../../rules/compression/compress-text.ts';
import { compressedText } from '../../support/compression.ts';

const MEGABYTE = 1_000_000;
const filled = (piece: string, length = MEGABYTE): string => piece.repeat(Math.ceil(length / piece.length));

const KEPT: Readonly<Record<string, string>> = {
  'one long run': 'a'.repeat(MEGABYTE),
  'a million blank lines': '\n'.repeat(MEGABYTE),
  'a million short results': filled('a.ts:1:x\n'),
  'open hunks': filled('@@ -1,999999999 +1,999999999 @@\n'),
  'a hunk that never ends': `@@ -1,99999 +1,99999 @@\n${filled(' \n', 50_000)}`,
  'hunk headers of many parents': filled(`${'@'.repeat(9)} ${'-1,5 '.repeat(8)}+1,5 ${'@'.repeat(9)}\n`),
  'git headers without a diff': `${filled('diff --git a/x b/x\n', 400_000)}@@ -1 +1 @@\nnothing`,
  colons: filled(`${':'.repeat(1_000)}\n`),
  dashes: filled(`${'-1'.repeat(500)}-\n`),
  digits: `${filled(`${'1'.repeat(400)}\n`)}5 failed`,
  'counts without end': filled(`${'1 passed, '.repeat(15)}\n`),
  'words of a summary': filled(`${'test failed '.repeat(12)}\n`),
  underscores: `${filled(`${'_'.repeat(450)} \n`)}1 failed in 1.0s`,
  'nested JSON': `{"output":${'['.repeat(400_000)}`,
  'headers of commands': filled('Exit code: '),
  'lone surrogates': filled('\ud800\n'),
};

for (const [what, text] of Object.entries(KEPT)) {
  test(`${what}: the text stays unchanged`, () => assert.ok(compressedText(text) === text));
}

test('long texts are scanned in steps, between which other turns run', () => {
  const text = filled('src/a-file-of-the-project.ts:1: some text of this line\n');
  let steps = 0;
  for (const _ of compressText(text)) steps++;
  assert.ok(steps > 10, `${steps} steps`);
});

test('shortened lines are well-formed text', () => {
  const line = (i: number): string => `src/a.ts:${i}:${'😀'.repeat(400)}`;
  for (const pad of ['', 'x']) {
    const compressed = compressedText(Array.from({ length: 6 }, (_, i) => line(i).replace('😀', `${pad}😀`)).join('\n'));
    assert.ok(compressed.isWellFormed() && compressed.includes('characters left out'));
  }
});

/** For pieces of all forms, cut and joined at random, compression ends, is stable, and never makes the text longer. */
test('random mixtures of tool output are stable under a second compression', () => {
  const pieces = [
    '@@ -1,3 +1,3 @@',
    ' a',
    '-b',
    '+c',
    '',
    '--- a/x',
    '+++ b/x',
    'diff --git a/x b/x',
    'index 1..2',
    'src/a.ts:1: x',
    'src/a.ts:2: x',
    'src/a.ts-3-y',
    'src/b.ts',
    '12: z',
    '13: z',
    '--',
    'ok 1 - a',
    'not ok 2 - b',
    '  ---',
    '  ...',
    '# fail 1',
    '# Subtest: a',
    'test result: ok. 3 passed; 0 failed',
    'test a ... ok',
    'src/a.ts\x004: q',
    '1 failed, 2 passed in 1.0s',
    '____ x ____',
    '~3',
    '[3 lines left out]',
  ];
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 3_000; round++) {
    const text = Array.from({ length: 10 + random(60) }, () => pieces[random(pieces.length)]).join('\n');
    const compressed = compressedText(text);
    assert.ok(compressed === text || compressed.length < text.length);
    assert.equal(compressedText(compressed), compressed);
  }
});
