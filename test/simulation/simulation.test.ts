// The simulation: refusals, moves of sessions and cache hits of each strategy, compared with an oracle that knows the future.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayOf } from './day.ts';
import { simulate, tableOf, USUAL } from './simulation.ts';

for (const seed of [3, 4]) {
  test(`headroom answers nearly as many turns as the oracle on a day of waves, exhaustion and outages (seed ${seed})`, async () => {
    const simulated = await simulate({ seed }, ['headroom']);
    const { oracle, strategies } = simulated;
    const [headroom] = strategies;
    assert.ok(headroom, 'the day was run');
    const table = tableOf(simulated);
    assert.ok(headroom.turns > 30_000 && headroom.moves > 100 && headroom.retries > 100, `the day has retries and moves:\n${table}`);
    assert.ok(headroom.refused - oracle.refused <= 0.02 * headroom.turns, `at most 2 % more turns are refused:\n${table}`);
    assert.equal(headroom.unforced, 0, `a session moves at most once for each failure of its account:\n${table}`);
    assert.ok(headroom.hits >= 0.95 * headroom.warm, `95 % of the cache hits that failures allow are kept:\n${table}`);
    assert.ok(headroom.spread < 0.25, `accounts use similar shares of their quota:\n${table}`);
  });
}

test('every strategy keeps sessions and caches at their accounts', async () => {
  const simulated = await simulate({ seed: 5, sessions: 800, accounts: 6 });
  for (const { name, unforced, moves, hits, warm } of simulated.strategies) {
    assert.ok(unforced <= moves / 100, `${name}: sessions move only where their account failed:\n${tableOf(simulated)}`);
    assert.ok(hits >= 0.93 * warm, `${name}: caches are kept:\n${tableOf(simulated)}`);
  }
});

test('equal options draw equal days', () => {
  assert.deepEqual(dayOf({ ...USUAL, sessions: 50 }), dayOf({ ...USUAL, sessions: 50 }));
});
