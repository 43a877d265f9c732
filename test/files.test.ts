// The files of the project by the rules of its style: each states its idea, no folder has too many, and names are distinct.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const MOST_FILES = 16;

/** The files of source code in a folder, which is a path from the root, and in the folders below it. */
const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' || entry.name === 'fixtures' ? [] : sourcesIn(path);
    return /\.(?:ts|js|mjs)$/.test(entry.name) ? [path] : [];
  });

const PROGRAM = ['proxy', 'rules', 'store'].flatMap(sourcesIn);
const ALL = [...PROGRAM, ...['scripts', 'test'].flatMap(sourcesIn)];

test('the first line of each file is a comment', () => {
  assert.ok(ALL.length > 1_000);
  assert.deepEqual(
    ALL.filter((file) => !/^(?:#!.*\n)?(?:\/\/ |\/\*\*? )\S/.test(readFileSync(join(ROOT, file), 'utf8'))),
    [],
  );
});

test('no folder has more than 16 files', () => {
  const byFolder = Map.groupBy(ALL, (file) => join(file, '..'));
  assert.deepEqual(
    [...byFolder].flatMap(([folder, files]) => (files.length > MOST_FILES ? [`${folder}: ${files.length}`] : [])),
    [],
  );
});

test('no two modules of the program have the same name', () => {
  const byName = Map.groupBy(
    PROGRAM.filter((file) => file.endsWith('.ts')),
    (file) => basename(file),
  );
  assert.deepEqual(
    [...byName.values()].filter((files) => files.length > 1),
    [],
  );
});
