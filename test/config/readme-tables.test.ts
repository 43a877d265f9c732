// What the README repeats of the program is what the program says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withTables } from '../../scripts/readme-tables.ts';

test('the README lists every setting, and every route that is not served yet (else run scripts/readme-tables.ts --write)', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  assert.equal(readme, withTables(readme));
});
