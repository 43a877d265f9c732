// The README's table of settings is the schema's.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withSettingsTable } from '../../scripts/settings-table.ts';

test('the README lists every setting as the schema has it (else run scripts/settings-table.ts --write)', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  assert.equal(readme, withSettingsTable(readme));
});
