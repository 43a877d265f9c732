// The sum of the last minute under a clock that is set back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlidingSum } from '../../proxy/keys/sliding-sum.ts';

const START = 1_800_000_000_000;
const HOUR = 3_600_000;

test('a clock that was set back by more than a minute starts the sum again', () => {
  const sum = new SlidingSum();
  sum.add(1, START - 1_000);
  sum.add(60, START);
  const back = START - HOUR;
  assert.deepEqual([sum.sum(back), sum.firstExpiry(back), sum.fallsTo(0, back)], [0, undefined, back]);
  sum.undo(60, START, back);
  sum.add(5, back);
  assert.deepEqual([sum.sum(back + 59_999), sum.fallsTo(0, back), sum.sum(back + 60_000)], [5, back + 60_000, 0]);
});

test('a clock that was set back by less keeps the sum, for that much longer at most', () => {
  const sum = new SlidingSum();
  sum.add(3, START);
  sum.add(4, START - 50_000);
  assert.deepEqual([sum.sum(START - 50_000), sum.sum(START + 59_999), sum.sum(START + 60_000)], [7, 7, 0]);
});

test('what was added just after a step back can be undone', () => {
  const sum = new SlidingSum();
  sum.add(1, START);
  sum.add(1, START + 5);
  sum.add(1, START + 2);
  sum.undo(1, START + 2, START + 3);
  assert.deepEqual([sum.sum(START + 3), sum.sum(START + 60_000), sum.sum(START + 60_005)], [2, 1, 0]);
});

test('what has stopped counting is not undone', () => {
  const sum = new SlidingSum();
  sum.add(1, START);
  sum.add(1, START + 30_000);
  sum.undo(1, START, START + 60_000);
  assert.equal(sum.sum(START + 60_000), 1);
});
