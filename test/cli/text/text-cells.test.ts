// Texts in the cells of a terminal table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cell, timeSpan } from '../../../proxy/cli/text/text-cells.ts';

test('a duration has its two largest units', () => {
  const spans = [-1, 0, 499, 45_000, 60_000, 750_000, 3_900_000, 86_400_000, 30 * 86_400_000 + 7_200_000];
  assert.deepEqual(spans.map(timeSpan), ['0s', '0s', '0s', '45s', '1m00s', '12m30s', '1h05m', '1d00h', '30d02h']);
});

test('a cell is cut to its width, and contains no character that moves the cursor or the direction of the text', () => {
  assert.equal(cell('southern', 8), 'southern');
  assert.equal(cell('southernmost', 8), 'souther…');
  assert.equal(cell('a\u001b[2Jb\u202ec\u0085\n', 20), 'a?[2Jb?c??');
});
