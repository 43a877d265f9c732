// The retry budget of a Pool: ten in ten seconds, or a fifth of its turns (Q6).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RetryBudget } from '../../../proxy/dispatch/retries/retry-budget.ts';

const START = 1_700_000_000_500;

/** The number of retries that are allowed in a row. */
function spent(budget: RetryBudget, now: number): number {
  let count = 0;
  for (; budget.allows(now); count++) budget.retry(now);
  return count;
}

test('a quiet Pool has ten retries', () => {
  const budget = new RetryBudget();
  budget.turn(START);
  assert.equal(spent(budget, START), 10);
});

test('a busy Pool has a fifth of its turns as retries', () => {
  const budget = new RetryBudget();
  for (let i = 0; i < 100; i++) budget.turn(START + i * 10);
  assert.equal(spent(budget, START + 1_000), 20);
});

test('retries and turns count for ten seconds, to the second', () => {
  const budget = new RetryBudget();
  for (let i = 0; i < 100; i++) budget.turn(START);
  assert.equal(spent(budget, START), 20);
  assert.equal(spent(budget, START + 9_000), 0);
  assert.equal(spent(budget, START + 10_000), 10, 'the turns are forgotten with the retries');
});

test('a pause of ten seconds clears the counts, and so does a clock that was set back by more than that', () => {
  const budget = new RetryBudget();
  assert.equal(spent(budget, START), 10);
  assert.equal(spent(budget, START + 3_600_000), 10);
  assert.equal(spent(budget, START + 3_595_000), 0, 'set back by a moment');
  assert.equal(spent(budget, START), 10);
  assert.equal(spent(budget, START + 9_000), 0);
  assert.equal(spent(budget, START + 10_000), 10);
});
