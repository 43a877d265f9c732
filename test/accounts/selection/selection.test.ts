// Selection without the strategies: the cohort, pins, and the refusal if no account can take the turn (Q7, Q10, Q12).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failure } from '../health/support.ts';
import { selectionOf, tally, times } from './support.ts';

const FIRST = { strategy: 'fill_first' } as const;

describe('the cohort', () => {
  test('is preferred to its overflow, also where the overflow is idle', async () => {
    const { take } = await selectionOf({ candidates: { preferred: ['north', 'south'], overflow: ['west'] } });
    assert.deepEqual(Object.keys(tally(times(40, () => take().account.id))), ['north', 'south']);
  });

  test('overflows where all its accounts are at their maximum, exhausted or cooling', async () => {
    const { take, quota, attempt } = await selectionOf({
      caps: { north: 1 },
      candidates: { preferred: ['north', 'south'], overflow: ['west'] },
    });
    quota.set('south', { left: 0 });
    assert.deepEqual([take().account.id, take().account.id], ['north', 'west']);
    attempt('north', failure('connect'));
    assert.equal(take().account.id, 'west');
  });

  test('can change between two turns', async () => {
    const { where, shown } = await selectionOf({ candidates: { preferred: ['north'], overflow: [] } });
    assert.equal(where(), 'north');
    shown.candidates = { preferred: ['south'], overflow: [] };
    assert.equal(where(), 'south');
  });
});

describe('an account', () => {
  test('is tried at most once by a turn', async () => {
    const { where, demand, selection } = await selectionOf({ pool: FIRST });
    assert.equal(where({}, new Set(['north'])), 'south');
    assert.equal(where({}, new Set(['north', 'south'])), 'west');
    assert.equal(selection.candidates.hasAny(demand(), new Set(['north', 'south'])), true);
    assert.equal(selection.candidates.hasAny(demand(), new Set(['north', 'south', 'west'])), false);
  });

  test('[UA2] that is out of quota is not selected before its reset', async () => {
    const { where, quota, health, clock } = await selectionOf({ pool: FIRST });
    quota.set('north', { left: 0, until: clock.now() + 60_000 });
    assert.equal(where(), 'south');
    assert.equal(health.routable('north', 'model-a'), true);
    await clock.advance(60_000);
    assert.equal(where(), 'north');
  });

  test('that refused a turn for lack of quota is not selected before the reset that it stated', async () => {
    const { where, attempt, clock } = await selectionOf({ pool: FIRST });
    attempt('north', failure('quota', { retryAfterMs: 30_000 }));
    assert.equal(where(), 'south');
    await clock.advance(30_000);
    assert.equal(where(), 'north');
  });

  test('with only its reserve left is not selected', async () => {
    const { where, quota } = await selectionOf({ pool: FIRST });
    quota.set('north', { left: 0.1, reserved: true });
    assert.equal(where(), 'south');
  });

  test('that is cooling for one model is selected for others', async () => {
    const { where, attempt } = await selectionOf({ pool: FIRST });
    attempt('north', failure('model'), 'model-b');
    assert.equal(where(), 'north');
    attempt('north', failure('model'), 'model-a');
    assert.equal(where(), 'south');
  });

  test('is probed by one turn while the others go to another account', async () => {
    const { take, attempt, clock } = await selectionOf({ pool: FIRST });
    attempt('north', failure('connect'));
    await clock.advance(10_000);
    const probe = take();
    assert.deepEqual([probe.account.id, probe.isProbe], ['north', true]);
    assert.equal(take().account.id, 'south');
    probe.answered();
    assert.equal(take().account.id, 'north');
  });
});

describe('a lease', () => {
  test('is counted once and released once', async () => {
    const { take, selection } = await selectionOf({ pool: FIRST });
    const lease = take();
    assert.equal(selection.candidates.inFlight('north'), 1);
    lease.end('completed');
    lease.end(failure('connect'));
    assert.equal(selection.candidates.inFlight('north'), 0);
    assert.equal(take().account.id, 'north');
  });

  test('stays counted after a reload', async () => {
    const { take, selection, pool } = await selectionOf({ pool: FIRST, caps: { north: 1 } });
    take();
    selection.configure(pool.assignments.map(({ account }) => ({ ...take().account, id: account, max_concurrent: 1 })));
    assert.ok(selection.candidates.inFlight('north') >= 1);
  });

  test('has the account and the bearer of the configuration with which its turn began', async () => {
    const { accounts, selection, take } = await selectionOf({ pool: FIRST, bearers: { north: 'earlier' } });
    const before = take();
    const later = accounts.map((one) => ({ ...one, label: 'later' }));
    selection.configure(later, { bearers: new Map([['north', 'later']]) });
    const after = take();
    assert.deepEqual([before.bearer, after.bearer], ['earlier', 'earlier']);
    assert.equal(after.account, accounts[0]);
  });
});

describe('a soft pin', () => {
  test('takes precedence over strategy, locality and cohort', async () => {
    const { where, take } = await selectionOf({ pool: FIRST, candidates: { preferred: ['north'], overflow: ['south'] } });
    assert.equal(where({ soft: 'south', conversation: 'k' }), 'south');
    assert.equal(where({ soft: 'west' }), 'west');
    assert.equal(take({ soft: 'west' }).why.reason, 'soft_pin');
  });

  for (const [what, left] of [
    ['health', 'cooldown'],
    ['quota', 'out_of_quota'],
    ['the owner’s reserve', 'reserved'],
    ['a full account', 'at_max_concurrent'],
    ['the removal of its account from the Pool', 'not_a_source'],
  ] as const) {
    test(`yields to ${what} and records the reason`, async () => {
      const { take, attempt, quota, counters } = await selectionOf({ pool: FIRST, caps: { south: 1 } });
      if (left === 'cooldown') attempt('south', failure('connect'));
      if (left === 'out_of_quota') quota.set('south', { left: 0 });
      if (left === 'reserved') quota.set('south', { left: 0.1, reserved: true });
      if (left === 'at_max_concurrent') take({ soft: 'south' });
      const { why } = take({ soft: left === 'not_a_source' ? 'gone' : 'south' });
      assert.deepEqual([why.reason, why.left_soft_pin], ['fill_first', left]);
      assert.equal(counters.values.soft_pins_left, 1);
    });
  }
});

describe('a hard pin', () => {
  test('goes to its account and to no other', async () => {
    const { where, demand, selection } = await selectionOf({ pool: FIRST });
    assert.equal(where({ hard: 'west' }), 'west');
    assert.equal(selection.candidates.hasAny(demand({ hard: 'west' }), new Set(['west'])), false);
  });

  test('[F8.2] to an account that was removed or needs re-authentication is continuation_requires_restart', async () => {
    const { refusal, attempt } = await selectionOf({ pool: FIRST });
    attempt('west', failure('credential'));
    for (const hard of ['west', 'gone']) {
      const { status, code, headers } = refusal({ hard });
      assert.deepEqual([status, code, headers['x-agent-recovery']], [400, 'continuation_requires_restart', 'restart_with_full_context']);
    }
  });

  test('to an account that is out of quota or cooling gets the refusal for that account', async () => {
    const { refusal, attempt, quota, clock } = await selectionOf({ pool: FIRST });
    quota.set('west', { left: 0, until: clock.now() + 60_000 });
    assert.equal(refusal({ hard: 'west' }).code, 'usage_limit_reached');
    attempt('south', failure('connect'));
    const { code, headers } = refusal({ hard: 'south' });
    assert.deepEqual([code, headers['retry-after']], ['no_eligible_account', '10']);
  });

  test('waits for its account at max_concurrent', async () => {
    const { take, demand, selection } = await selectionOf({ pool: FIRST, caps: { west: 1 } });
    const lease = take({ hard: 'west' });
    const waiting = selection.choose(demand({ hard: 'west' }), new Set());
    assert.ok(waiting instanceof Promise);
    lease.end('completed');
    assert.equal((await waiting)?.account.id, 'west');
  });
});

describe('a turn that no account can take', () => {
  test('is usage_limit_reached with the soonest reset where all are out of quota', async () => {
    const { refusal, quota, attempt, clock } = await selectionOf();
    quota.set('north', { left: 0, until: clock.now() + 7_200_000 });
    quota.set('south', { left: 0.05, reserved: true, until: clock.now() + 3_600_000 });
    attempt('west', failure('credential'));
    const { code, error, headers } = refusal();
    assert.deepEqual([code, error.resets_at, headers['x-should-retry']], ['usage_limit_reached', clock.now() / 1000 + 3_600, 'false']);
  });

  test('is usage_limit_reached without a time where none is known', async () => {
    const { refusal, quota } = await selectionOf({ accounts: ['north'] });
    quota.set('north', { left: 0 });
    const { code, error } = refusal();
    assert.deepEqual([code, error.resets_at], ['usage_limit_reached', undefined]);
  });

  test('is otherwise no_eligible_account with the first end of a cooldown', async () => {
    const { refusal, attempt, clock } = await selectionOf();
    attempt('north', failure('rate', { retryAfterMs: 30_000 }));
    attempt('south', failure('connect'));
    attempt('west', failure('credential'));
    await clock.advance(3_000);
    const { status, code, headers } = refusal();
    assert.deepEqual([status, code, headers['retry-after']], [503, 'no_eligible_account', '7']);
  });

  test('gets the refusal for the account that recovers first', async () => {
    const { refusal, attempt, quota, clock } = await selectionOf({ accounts: ['north', 'south'] });
    quota.set('north', { left: 0, until: clock.now() + 3_600_000 });
    attempt('south', failure('connect'));
    assert.equal(refusal().code, 'no_eligible_account');
    quota.set('north', { left: 0, until: clock.now() + 5_000 });
    assert.equal(refusal().code, 'usage_limit_reached');
  });
});

describe('the selection reason in a row', () => {
  test('[Q7] has the reason, and the number of other accounts per reason', async () => {
    const accounts = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const { attempt, quota, take } = await selectionOf({
      pool: FIRST,
      accounts,
      caps: { d: 1 },
      candidates: { preferred: accounts.slice(0, 7), overflow: [] },
    });
    attempt('a', failure('connect'));
    attempt('b', failure('credential'));
    quota.set('c', { left: 0 });
    take({ soft: 'd' });
    assert.deepEqual(take({}, new Set(['e'])).why, {
      reason: 'fill_first',
      others: { cooldown: 1, reauth_required: 1, out_of_quota: 1, at_max_concurrent: 1, less_preferred: 1, tried: 1, not_a_source: 1 },
    });
  });
});
