// Affinity in selection: the strategy places the first turn of a conversation, later turns follow it within the bound on load (F8.3, Q11).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failure } from '../health/support.ts';
import { selectionOf, tally, times } from './support.ts';

const FIRST = { strategy: 'fill_first' } as const;
const TRIED: ReadonlySet<string> = new Set();

describe('[Q11] a conversation', () => {
  test('is placed by the strategy at its first turn', async () => {
    const { quota, where } = await selectionOf({ accounts: ['full', 'empty'], pool: { strategy: 'headroom' } });
    quota.set('full', { left: 0.95 });
    quota.set('empty', { left: 0.05 });
    assert.deepEqual(tally(times(40, (i) => where({ conversation: `new-${i}` }))), { full: 40 });
  });

  test('keeps the account that answered its last turn, whatever the strategy prefers later', async () => {
    const { quota, take, where } = await selectionOf({ pool: { strategy: 'headroom' } });
    quota.set('north', { left: 0.9 });
    assert.equal(where({ conversation: 'c' }), 'north');
    quota.set('north', { left: 0.1 });
    quota.set('south', { left: 0.9 });
    assert.deepEqual(tally(times(12, () => where({ conversation: 'c' }))), { north: 12 });
    const { why } = take({ conversation: 'c' }, TRIED);
    assert.deepEqual([why.reason, why.others], ['locality', { less_preferred: 2 }]);
  });

  test('has no account before a reply is committed', async () => {
    const { take, conversations } = await selectionOf({ pool: FIRST });
    const lease = take({ conversation: 'c' });
    assert.equal(conversations.size, 0);
    lease.answered();
    assert.equal(conversations.get('c'), 'north');
  });

  test('keeps its account in the overflow of the cohort', async () => {
    const { where, shown } = await selectionOf({ pool: FIRST, candidates: { preferred: ['south'], overflow: ['west'] } });
    assert.equal(where({ conversation: 'c' }), 'south');
    shown.candidates = { preferred: ['north'], overflow: ['south'] };
    assert.equal(where({ conversation: 'c' }), 'south');
    shown.candidates = { preferred: ['north'], overflow: [] };
    assert.equal(where({ conversation: 'c' }), 'north');
  });

  test('yields to a soft pin', async () => {
    const { where, conversations } = await selectionOf({ pool: FIRST });
    conversations.set('c', 'south');
    assert.equal(where({ conversation: 'c', soft: 'west' }), 'west');
  });
});

describe('[Q11] a conversation moves with its next reply', () => {
  for (const [what, left] of [
    ['health', 'cooldown'],
    ['quota', 'out_of_quota'],
    ['the owner’s reserve', 'reserved'],
    ['a failed attempt', 'tried'],
    ['the removal of its account from the Pool', 'not_a_source'],
  ] as const) {
    test(`after it yields to ${what}, and the row has the reason`, async () => {
      const { attempt, quota, take, conversations } = await selectionOf({ pool: FIRST });
      conversations.set('c', left === 'not_a_source' ? 'gone' : 'south');
      if (left === 'cooldown') attempt('south', failure('connect'));
      if (left === 'out_of_quota') quota.set('south', { left: 0 });
      if (left === 'reserved') quota.set('south', { left: 0.1, reserved: true });
      const lease = take({ conversation: 'c' }, left === 'tried' ? new Set(['south']) : TRIED);
      assert.deepEqual([lease.why.reason, lease.why.left_affinity], ['fill_first', left]);
      lease.answered();
      assert.equal(conversations.get('c'), 'north');
    });
  }
});

describe('[Q11] an account over 1.25 times the mean in flight', () => {
  test('passes the turn to the strategy’s choice, and the conversation stays', async () => {
    const { take, conversations } = await selectionOf({ accounts: ['a', 'b'], pool: FIRST });
    conversations.set('hot', 'a');
    const leases = times(12, () => take({ conversation: 'hot' }));
    for (const lease of leases) lease.answered();
    // The eighth turn is the last below the bound: 1.25 × 12 / 2 is 7.5.
    assert.deepEqual(tally(leases.map(({ account }) => account.id)), { a: 8, b: 4 });
    assert.deepEqual(tally(leases.flatMap(({ why }) => why.left_affinity ?? [])), { over_bound: 4 });
    assert.equal(conversations.get('hot'), 'a');
  });

  test('still takes the turn where no other account is available', async () => {
    const { take, attempt, conversations } = await selectionOf({ accounts: ['a', 'b'], caps: { b: 1 }, pool: FIRST });
    conversations.set('hot', 'a');
    take({ soft: 'b' });
    assert.deepEqual(tally(times(9, () => take({ conversation: 'hot' }).account.id)), { a: 9 });
    attempt('b', failure('connect'));
    assert.equal(take({ conversation: 'hot' }).account.id, 'a');
  });

  test('is counted by weight', async () => {
    const { take, conversations } = await selectionOf({ accounts: ['a', 'b'], weights: { a: 3 }, pool: FIRST });
    conversations.set('hot', 'a');
    assert.deepEqual(tally(times(12, () => take({ conversation: 'hot' }).account.id)), { a: 12 });
  });

  test('at its max_concurrent keeps its conversations too', async () => {
    const { take, conversations } = await selectionOf({ accounts: ['a', 'b'], caps: { a: 1 }, pool: FIRST });
    conversations.set('c', 'a');
    take({ soft: 'a' });
    const lease = take({ conversation: 'c' });
    lease.answered();
    assert.deepEqual([lease.account.id, lease.why.left_affinity, conversations.get('c')], ['b', 'at_max_concurrent', 'a']);
  });
});
