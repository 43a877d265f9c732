// The estimate of the database's clock: a difference counts only if it is larger than the error of its measurement.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseClock } from '../../store/postgres/connection/database-clock.ts';

/** The difference after a measurement. @param theirs the database's time @param trip the machine's time before and after */
async function differenceOf(theirs: number, trip: readonly [before: number, after: number]): Promise<number> {
  const machine = trip.values();
  const clock = new DatabaseClock(
    () => 0,
    () => machine.next().value ?? assert.fail('the machine has two times'),
    () => undefined,
  );
  await clock.measure(async () => theirs);
  assert.equal(clock.now(), clock.differenceMs);
  return clock.differenceMs;
}

test('a difference within half the round trip, or below 100 ms, is none', async () => {
  assert.equal(await differenceOf(1_099, [1_000, 1_000]), 0);
  assert.equal(await differenceOf(1_000, [1_000, 1_400]), 0, 'the answer was late');
  assert.equal(await differenceOf(1_400, [1_000, 1_400]), 0, 'the question was late');
});

test('a larger one is the distance from the middle of the round trip', async () => {
  assert.equal(await differenceOf(1_101, [1_000, 1_000]), 101);
  assert.equal(await differenceOf(1_401, [1_000, 1_400]), 201);
  assert.equal(await differenceOf(400, [1_000, 1_400]), -800);
});

test('a measurement whose round trip took longer than half a second is ignored if there is another one', async () => {
  const machine = [1_000, 1_000, 6_000, 6_501].values();
  const clock = new DatabaseClock(
    () => 0,
    () => machine.next().value ?? assert.fail('the machine has four times'),
    () => undefined,
  );
  await clock.measure(async () => 1_200);
  await clock.measure(async () => 9_000);
  assert.equal(clock.differenceMs, 200);
});

test('the first one counts however long it took, because a node on a busy machine must not take leases by its own clock', async () => {
  assert.equal(await differenceOf(61_000, [1_000, 2_000]), 59_500);
  assert.equal(await differenceOf(1_900, [1_000, 2_000]), 0, 'the clocks may be equal');
});
