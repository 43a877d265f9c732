// What the default strategy owes: few refusals, sessions that stay, caches that are kept; against an oracle that knows the future.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayOf } from './day.ts';
import { simulate, tableOf, USUAL } from './simulate.ts';

for (const seed of [3, 4]) {
  test(`headroom serves a day of waves, exhaustion and outages about as well as an oracle could (seed ${seed})`, async () => {
    const simulated = await simulate({ seed }, ['headroom']);
    const { oracle, strategies } = simulated;
    const [headroom] = strategies;
    assert.ok(headroom, 'it was lived through');
    const table = tableOf(simulated);
    assert.ok(headroom.turns > 30_000 && headroom.moves > 100 && headroom.retries > 100, `a day with something in it:\n${table}`);
    assert.ok(headroom.refused - oracle.refused <= 0.02 * headroom.turns, `at most 2 % more turns are refused:\n${table}`);
    assert.equal(headroom.unforced, 0, `a session moves at most once for each failure of its account:\n${table}`);
    assert.ok(headroom.hits >= 0.95 * headroom.warm, `95 % of the cache hits that failures allow are kept:\n${table}`);
    assert.ok(headroom.spread < 0.25, `accounts give alike of what they have:\n${table}`);
  });
}

test('every strategy keeps sessions where they are, and caches', async () => {
  const simulated = await simulate({ seed: 5, sessions: 800, accounts: 6 });
  for (const { name, unforced, moves, hits, warm } of simulated.strategies) {
    assert.ok(unforced <= moves / 100, `${name}: sessions move where their account failed:\n${tableOf(simulated)}`);
    assert.ok(hits >= 0.93 * warm, `${name}: caches are kept:\n${tableOf(simulated)}`);
  }
});

test('a day is the same whoever lives through it', () => {
  assert.deepEqual(dayOf({ ...USUAL, sessions: 50 }), dayOf({ ...USUAL, sessions: 50 }));
});
