// The generated sections of the documentation are current.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pages } from '../../scripts/docs-tables.ts';

test('the pages list every setting and every client as the program has them (else run scripts/docs-tables.ts --write)', () => {
  for (const { page, text, current } of pages()) assert.equal(text, current, page);
});
