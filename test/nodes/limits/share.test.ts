// The slots of one account on one node: when the node asks for more, when it gives some back, and which ones it keeps while it asks the
// store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Share } from '../../../proxy/nodes/share.ts';
import type { SlotGrant } from '../../../store/store.ts';

const grant = (held: number, given: Partial<SlotGrant> = {}): SlotGrant => ({
  account: 'north',
  held,
  allowed: held,
  contended: false,
  ...given,
});

/** The share of an account with ten slots, of which the node has four. */
function share(given: Partial<SlotGrant> = {}): Share {
  const made = new Share(10);
  made.granted(grant(4, given), made.claim('north', 'ask'), 0);
  return made;
}

test('more are asked for when the last slot is taken, and again when the demand grows or a second has passed', () => {
  const one = share();
  one.used(3);
  assert.equal(one.due(10), undefined);
  one.used(4);
  assert.equal(one.due(10), 'ask');
  one.granted(grant(4), one.claim('north', 'ask'), 10);
  assert.equal(one.due(20), undefined);
  one.waiting = 1;
  assert.equal(one.due(20), 'ask');
  one.granted(grant(4), one.claim('north', 'ask'), 20);
  one.waiting = 6;
  assert.equal(one.due(30), undefined, 'the store has it that the node is short');
  one.waiting = 7;
  assert.equal(one.due(1_020), 'ask');
});

test('an ask keeps the slots of the node; a yield keeps those that its turns use, and no turn begins until the answer has come', () => {
  const one = share();
  one.used(1);
  assert.deepEqual(one.claim('north', 'ask'), { account: 'north', most: 10, kept: 4, wanted: 1 });
  assert.equal(one.allowed, 4);
  assert.deepEqual(one.claim('north', 'yield'), { account: 'north', most: 10, kept: 1, wanted: 1 });
  assert.equal(one.allowed, 1);
  one.granted(grant(3), { account: 'north', most: 10, kept: 1, wanted: 1 }, 0);
  assert.equal(one.allowed, 3);
});

test('slots above the share are given back as turns end, and idle ones when the demand falls', () => {
  const one = share();
  one.used(4);
  one.granted(grant(4, { allowed: 2, contended: true }), one.claim('north', 'ask'), 0);
  assert.equal(one.due(10), undefined);
  one.used(3);
  assert.equal(one.due(10), 'trim');
  const trim = one.claim('north', 'trim');
  assert.equal(trim.kept, 3);
  one.granted(grant(3, { allowed: 2, contended: true }), trim, 10);
  one.used(2);
  one.granted(grant(2, { contended: true }), one.claim('north', 'trim'), 10);
  one.used(1);
  assert.equal(one.due(20), 'yield');
  one.granted(grant(2, { contended: true }), one.claim('north', 'yield'), 20);
  assert.equal(one.due(30), undefined, 'the demand is what it was');
  assert.equal(one.due(1_020), 'ask', 'what is fair changes with time');
});

test('a node that is no longer short reports it, because others give slots back for it', () => {
  const one = share();
  one.used(4);
  one.waiting = 3;
  one.granted(grant(4), one.claim('north', 'ask'), 0);
  assert.equal(one.isShort, true);
  one.waiting = 0;
  assert.equal(one.due(10), 'ask');
});

test('without an answer the node keeps its slots, and gives up unused ones with its next claim', () => {
  const one = share();
  one.used(1);
  const before = { allowed: one.allowed };
  one.claim('north', 'yield');
  one.failed(before, 0);
  assert.equal(one.allowed, 4);
  assert.equal(one.dueAmong(1), 'yield');
  assert.deepEqual(one.claim('north', 'ask'), { account: 'north', most: 10, kept: 1, wanted: 1 });
  one.granted(grant(4), { account: 'north', most: 10, kept: 1, wanted: 1 }, 0);
  assert.equal(one.claim('north', 'ask').kept, 4);
});

test('a smaller max_concurrent holds also while the store does not answer', () => {
  const one = share();
  const before = { allowed: one.allowed };
  one.most = 2;
  one.claim('north', 'yield');
  one.failed(before, 0);
  assert.equal(one.allowed, 2);
});

test('under a new lease a node has only the slots that its turns use', () => {
  const one = share();
  one.used(3);
  one.forget();
  assert.deepEqual([one.held, one.allowed], [0, 0]);
  assert.deepEqual(one.claim('north', 'ask'), { account: 'north', most: 10, kept: 3, wanted: 3 });
});

test('a node without slots asks when others gave some back, and then once a second; a node below its even part asks after a second', () => {
  const none = share({ held: 0, allowed: 0 });
  assert.deepEqual(
    [10, 20, 1_009, 1_010, 1_020].map((now) => none.dueAfterOthers(2, now)),
    ['ask', undefined, undefined, 'ask', undefined],
  );
  const some = share();
  some.used(4);
  assert.deepEqual([some.dueAfterOthers(2, 10), some.dueAfterOthers(2, 1_000)], [undefined, 'ask']);
});

test('an even share is asked for when nodes leave, and slots above it are given back when they join', () => {
  const one = share();
  assert.equal(one.dueAmong(2), 'ask');
  assert.equal(one.dueAmong(3), 'yield');
  one.used(3);
  assert.equal(one.dueAmong(3), undefined, 'its turns need it');
});
