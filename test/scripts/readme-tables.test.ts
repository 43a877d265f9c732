// The generated tables of the README are current.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withTables } from '../../scripts/readme-tables.ts';

test('the README lists every setting, and every route that is not served (else run scripts/readme-tables.ts --write)', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  assert.equal(readme, withTables(readme));
});
