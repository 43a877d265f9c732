// Stated quota resets: which of them can be correct, and which of two is used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resetTime } from '../../../proxy/turn/errors/quota-reset.ts';

const NOW = 1_700_000_000_000;
const SECONDS = NOW / 1000;
const WEEK = 7 * 86_400;
const FIVE_HOURS = 18_000;

for (const [title, stated, expected] of [
  ['a time within a month is used', { at: SECONDS + WEEK, after: undefined }, SECONDS + WEEK],
  ['a wait is added to the current time', { at: undefined, after: 60 }, SECONDS + 60],
  ['a time in milliseconds is ignored', { at: NOW + WEEK, after: undefined }, undefined],
  ['a wait replaces a time in milliseconds', { at: NOW + WEEK, after: 60 }, SECONDS + 60],
  ['a wait replaces a time in the past', { at: SECONDS - 60, after: 60 }, SECONDS + 60],
  ['a wait of decades is ignored', { at: undefined, after: 1e9 }, undefined],
  ['nothing stated is no reset', { at: undefined, after: undefined }, undefined],
] as const) {
  test(title, () => assert.equal(resetTime(stated, NOW), expected));
}

test('a reset later than its window is long, and an hour for wrong clocks, is ignored', () => {
  const after = FIVE_HOURS + 3_600;
  assert.equal(resetTime({ at: SECONDS + after, after: undefined }, NOW, FIVE_HOURS), SECONDS + after);
  assert.equal(resetTime({ at: SECONDS + after + 1, after: undefined }, NOW, FIVE_HOURS), undefined);
});
