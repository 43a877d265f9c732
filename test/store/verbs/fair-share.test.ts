// Fair shares: no sharer gets more than it requests, all units are used, and the remainder rotates.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fairShare, type Sharer } from '../../../store/verbs/slot-change.ts';

const NOW = 1_000_000;
const sharers = (wants: readonly number[]): readonly Sharer[] => wants.map((wanted, i) => ({ wanted, held: 0, since: i }));
const shares = (units: number, all: readonly Sharer[]): readonly number[] => all.map((one) => fairShare(units, all, one, NOW));

test('shares are equal where all ask for more, and units that one does not need go to the others', () => {
  for (const [units, wants, expected] of [
    [10, [3, 4], [3, 4]],
    [10, [10, 10], [5, 5]],
    [10, [2, 20], [2, 8]],
    [12, [1, 20, 4, 20], [1, 4, 4, 3]],
    [10, [0, 7], [0, 7]],
    [4, [10, 10, 10], [2, 1, 1]],
    [1, [5, 9, 2], [1, 0, 0]],
    [0, [1], [0]],
  ] as const)
    assert.deepEqual(shares(units, sharers(wants)), expected, `${units} among ${wants}`);
});

test('the sum is the smaller of all requested and all available units, for any requests', () => {
  let seed = 11;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  for (let round = 0; round < 2_000; round++) {
    const all = sharers(Array.from({ length: 1 + random(8) }, () => random(12)));
    const units = random(40);
    const given = shares(units, all);
    const wanted = all.reduce((sum, one) => sum + one.wanted, 0);
    assert.equal(
      given.reduce((sum, one) => sum + one, 0),
      Math.min(units, wanted),
    );
    assert.ok(given.every((share, i) => share <= (all[i] as Sharer).wanted));
  }
});

test('the remainder stays for a second where it is, then goes to the sharer that waits longest', () => {
  const holder = { wanted: 3, held: 1, since: NOW - 999 };
  const waiting = { wanted: 1, held: 0, since: NOW - 5_000 };
  const longer = { wanted: 9, held: 0, since: NOW - 6_000 };
  assert.deepEqual(shares(1, [holder, waiting, longer]), [1, 0, 0]);
  assert.deepEqual(shares(1, [{ ...holder, since: NOW - 1_000 }, waiting, longer]), [0, 0, 1]);
  assert.deepEqual(shares(2, [{ ...holder, since: NOW - 1_000 }, waiting, longer]), [0, 1, 1]);
});
