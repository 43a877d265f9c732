// The corpus of real tool output: compression removes repetition and context, and never a path, line number, change or failure.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CORPUS_FILES, type CorpusFile, compressedText, corpusText, savingsTable } from '../../support/compression.ts';

const ofKind = (kind: string): readonly CorpusFile[] => CORPUS_FILES.filter((file) => file.startsWith(kind));

for (const file of CORPUS_FILES) {
  test(`${file}: compressed twice it is the same as compressed once, and never longer`, () => {
    const before = corpusText(file);
    const after = compressedText(before);
    assert.equal(compressedText(after), after);
    assert.equal(compressedText(before), after);
    assert.ok(after === before || after.length < before.length * 0.95);
  });
}

/** `path line` of every match, in order. */
function placesIn(text: string): readonly string[] {
  const places: string[] = [];
  let heading = '';
  for (const line of text.split('\n')) {
    const [, path, flat] = /^([^\s:\0]+)[:\0](\d+):/.exec(line) ?? [];
    const [, below] = /^(\d+):/.exec(line) ?? [];
    if (below !== undefined) places.push(`${heading} ${below}`);
    else if (path !== undefined) places.push(`${path} ${flat}`);
    else if (!/^\S*-\d+-|^\d+-|^--$|^$/.test(line)) heading = line;
  }
  return places;
}

/** The places in a compressed text, in which matches with the same text, and matches without text, share a line. */
function compressedPlaces(text: string): readonly string[] {
  const places: string[] = [];
  let heading = '';
  for (const line of text.split('\n')) {
    const [, path, flat] = /^([^\s:]+):(\d+):/.exec(line) ?? [];
    const [, below] = /^(\d+(?:,\d+)*):/.exec(line) ?? [];
    const [, further] = /^\[\d+ more matches, their text left out, at (.*)\]$/.exec(line) ?? [];
    if (below !== undefined) places.push(...below.split(',').map((at) => `${heading} ${at}`));
    else if (further !== undefined) places.push(...further.split(' ').map((at) => `${heading} ${at.split(':')[0]}`));
    else if (path !== undefined) places.push(`${path} ${flat}`);
    else if (!/^\d+-|^--$|^\[compressed/.test(line)) heading = line;
  }
  return places;
}

for (const file of ofKind('search-')) {
  test(`${file}: every path and line number of a match is still there`, () => {
    const before = corpusText(file);
    const after = compressedText(before);
    assert.ok(after !== before);
    assert.ok(placesIn(before).length > 5);
    assert.deepEqual(compressedPlaces(after).toSorted(), placesIn(before).toSorted());
  });

  test(`${file}: every text that is shown is the text of its line`, () => {
    const before = corpusText(file);
    for (const line of compressedText(before).split('\n')) {
      const [, first, text] = /^(?:[^\s:\d][^\s:]*:)?(\d+)(?:,\d+)*([:-].*)$/s.exec(line) ?? [];
      if (text !== undefined && !line.includes('characters left out')) assert.ok(before.includes(`${first}${text}\n`), line);
    }
  });
}

/** Each changed line with its number in both files, and the lines outside of hunks except git's own header lines. */
function changesIn(text: string): readonly string[] {
  const changes: string[] = [];
  let [before, after, parents] = [0, 0, 0];
  const lines = text.split('\n');
  for (const [i, line] of lines.entries()) {
    if (line.startsWith('--- ') && lines[i + 1]?.startsWith('+++ ') && lines[i + 2]?.startsWith('@@')) parents = 0;
    const [, signs, old, now] = /^(@@+) -(\d+)[^+]*\+(\d+)/.exec(line) ?? [];
    const [, left] = /^~(\d+)$/.exec(line) ?? [];
    if (signs) {
      [before, after, parents] = [Number(old), Number(now), signs.length - 1];
      changes.push(line);
    } else if (left) {
      before += Number(left);
      after += Number(left);
    } else if (/^(?:diff |index |commit |Merge: |Author:|Date:|\[compressed)/.test(line)) parents = 0;
    else if (parents === 1 && line.startsWith('-')) changes.push(`${before++} ${line}`);
    else if (parents === 1 && line.startsWith('+')) changes.push(`${after++} ${line}`);
    else if (parents > 1 && line.slice(0, parents).trim() !== '') changes.push(line);
    else if (parents > 0) {
      before++;
      after++;
    } else if (line !== '') changes.push(line);
  }
  return changes;
}

for (const file of ofKind('diff-')) {
  test(`${file}: every changed line is still there, with its line number and under its path`, () => {
    const before = corpusText(file);
    const after = compressedText(before);
    assert.ok(after !== before);
    assert.ok(changesIn(before).filter((line) => /^\d+ [+-]/.test(line) || /^[ +-]{2}/.test(line)).length > 20);
    assert.deepEqual(changesIn(after), changesIn(before));
    for (const line of before.split('\n')) if (/^(?:---|\+\+\+) /.test(line)) assert.ok(after.includes(line), line);
  });
}

const PASSED = /^\s*(?:ok \d|✔ |▶ |# Subtest: |---$|\.\.\.$|duration_ms: |type: |1\.\.\d|$)|\.\.\. ok$| PASSED +\[|^npm http /;

for (const file of ofKind('log-')) {
  test(`${file}: only lines of passed tests and of progress are left out, and each is counted`, () => {
    const before = corpusText(file).split('\n');
    const after = compressedText(corpusText(file)).split('\n');
    if (after.length === before.length) return;
    let at = 0;
    for (const line of after.slice(1)) {
      const left = Number(/^\[(\d+) lines left out\]$/.exec(line)?.[1] ?? 0);
      for (const gone of before.slice(at, at + left)) assert.match(gone, PASSED);
      at += left;
      if (left === 0) assert.equal(line, before[at++]);
    }
    assert.equal(at, before.length);
  });
}

test('logs of failures only, of compilers and of diagnostics stay as they are', () => {
  for (const file of ['log-cargo-build.txt', 'log-tsc.txt'] as const) assert.equal(compressedText(corpusText(file)), corpusText(file));
});

test('the table of savings in docs/compression.md is that of this version', () => {
  const page = readFileSync(new URL('../../../docs/compression.md', import.meta.url), 'utf8');
  const table = savingsTable();
  assert.ok(page.includes(table), `put this into docs/compression.md:\n${table}`);
});
