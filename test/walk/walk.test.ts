// docs/architecture.md has the walk of a traced turn, except for small changes of the path.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SECTION } from './main.ts';
import { changesOf, report, walks } from './walk.ts';

const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
const section = SECTION.exec(page)?.[0] ?? '';

/** The places of a line such as `3. \`clients/\`: http/http-client, frame`. */
const placesIn = (text: string): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(/^\d+\. `(\w+)\/`: (.*)$/gm)].flatMap(([, room, files = '']) => files.split(', ').map((file) => `${room}/${file}`)),
  );

test('the walk of a JSON turn on the page is that of a traced turn, nine of ten files (else npm run walk -- --write)', async () => {
  const [walk] = await walks(['json']);
  assert.ok(walk && walk.path.length > 50, 'a turn passes most rooms');
  const [shown, traced] = [placesIn(section), placesIn(report([walk]))];
  assert.equal(traced.size, walk.path.length);
  const common = [...traced].filter((place) => shown.has(place)).length;
  assert.ok(common >= 0.9 * traced.size, `of ${traced.size} files of the path the page has ${common}`);
  assert.ok(common >= 0.9 * shown.size, `of ${shown.size} files of the page ${common} are on the path`);
  const [, files = '', changes = ''] = /^\| A JSON turn .*? \| (\d+) \| (\d+) \|/m.exec(section) ?? [];
  assert.equal(Number(files), shown.size);
  assert.ok(
    Math.abs(Number(changes) - changesOf(walk.path)) <= 5,
    `the page has ${changes} changes of rooms, the turn ${changesOf(walk.path)}`,
  );
});
