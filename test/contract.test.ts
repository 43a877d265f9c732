// docs/contract.md has exactly the rules that comments and test titles cite.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * The ids of clauses, of decisions, of facts about real backends, of accounts of other APIs and of the Messages surface, each as its
 * section writes them.
 */
const IDS =
  /\b(?:S\d|PL\d|CR\d|UA\d|RE\d|MC\d|ML\d|FM\d|RM\d|SM\d|[A-E]\d{1,2}|F\d(?:\.\d{1,2}){0,2}|G\d|AU\d|EV\d|ER\d|LI\d|VE\d|Q\d{1,2}|RB\d{1,2}|A[AM]\d{1,2})\b/g;

/** `C0`, `E2` and the like are also ordinary words, so ids count only in comments, and in brackets in titles of tests. */
const CITING = /\/\/.*|\/?\*.*|(?:test|it|describe)\(.*|title: .*|['"`]\[[A-Z].*/g;

function* files(folder: string): Iterable<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === 'node_modules' || entry.name === 'fixtures') continue;
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* files(path);
    else if (entry.name.endsWith('.ts')) yield path;
  }
}

function cited(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const folder of ['proxy', 'rules', 'store', 'test']) {
    for (const path of files(`${ROOT}${folder}`)) {
      if (path.endsWith('contract.test.ts')) continue;
      const text = readFileSync(path, 'utf8');
      for (const [line] of text.matchAll(CITING)) for (const [id] of line.matchAll(IDS)) if (!found.has(id)) found.set(id, path);
    }
  }
  return found;
}

const page = readFileSync(`${ROOT}docs/contract.md`, 'utf8');
const listed = [...page.matchAll(/^\| ([A-Z]+[\d.]+) \|/gm)].map(([, id = '']) => id);

test('every rule that a comment or a test cites is in docs/contract.md', () => {
  const known = new Set(listed);
  const missing = [...cited()].filter(([id]) => !known.has(id));
  assert.deepEqual(missing, []);
});

test('every rule of docs/contract.md is cited, and has one row', () => {
  const used = cited();
  assert.deepEqual(
    listed.filter((id, i) => !used.has(id) || listed.indexOf(id) !== i),
    [],
  );
});
