// The sum over the last minute: its memory, and its amounts if the clock is set back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SlidingSum } from '../../../proxy/keys/limits/sliding-sum.ts';

const START = 1_800_000_000_000;
const HOUR = 3_600_000;

test('a key that is used all the time holds the entries of two minutes at most', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const hour = (): SlidingSum => {
    const sum = new SlidingSum();
    for (let at = START; at < START + HOUR; at += 1_000) {
      sum.add(1, at);
      assert.ok(sum.sum(at) <= 60);
    }
    return sum;
  };
  collect();
  const before = process.memoryUsage().heapUsed;
  const sums = Array.from({ length: 500 }, hour);
  collect();
  const bytes = (process.memoryUsage().heapUsed - before) / sums.length;
  // The expected memory is 120 entries of 16 bytes, and the unused capacity of two grown arrays.
  assert.ok(bytes < 5_000, `${bytes} bytes each`);
});

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

test('an amount that was added just after a step back can be removed', () => {
  const sum = new SlidingSum();
  sum.add(1, START);
  sum.add(1, START + 5);
  sum.add(1, START + 2);
  sum.undo(1, START + 2, START + 3);
  assert.deepEqual([sum.sum(START + 3), sum.sum(START + 60_000), sum.sum(START + 60_005)], [2, 1, 0]);
});

test('an amount that has stopped counting is not removed', () => {
  const sum = new SlidingSum();
  sum.add(1, START);
  sum.add(1, START + 30_000);
  sum.undo(1, START, START + 60_000);
  assert.equal(sum.sum(START + 60_000), 1);
});
