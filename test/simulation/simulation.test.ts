// The simulation: refusals, moves of sessions and cache hits of each strategy, compared with an oracle that sees the whole day in advance.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_CASES } from '../support/sample.ts';
import { dayOf } from './day.ts';
import type { CacheUse, DayResult } from './day-run.ts';
import { cacheShare } from './prompt-cache.ts';
import { besideNearlySpent, NEARLY_SPENT, simulate, tableOf, USUAL } from './simulation.ts';

for (const seed of ALL_CASES ? [3, 4] : [3]) {
  test(`headroom answers nearly as many turns as the oracle on a day of waves, exhaustion and outages (seed ${seed})`, async () => {
    const simulated = await simulate({ seed }, [{ strategy: 'headroom' }]);
    const { oracle, placements } = simulated;
    const [headroom] = placements;
    assert.ok(headroom, 'the day was run');
    const { warm, hits } = namedOf(headroom);
    const table = tableOf(simulated);
    assert.ok(headroom.turns > 30_000 && headroom.moves > 100 && headroom.retries > 50, `the day has retries and moves:\n${table}`);
    assert.ok(headroom.refused - oracle.refused <= 0.05 * headroom.turns, `at most 5 % more turns are refused:\n${table}`);
    assert.equal(headroom.unforced, 0, `a session moves at most once for each failure of its account:\n${table}`);
    assert.ok(hits >= 0.94 * warm, `94 % of the cache hits that failures allow are kept by sessions with a header or a key:\n${table}`);
    assert.ok(headroom.spread < 0.25, `accounts use similar shares of their quota:\n${table}`);
  });
}

test('[RB14] a derived session header keeps the prompt cache of an account, for every way in which clients name conversations', () => {
  for (const kind of ['pinned', 'keyed', 'unnamed'] as const) {
    const [without, derived] = [cacheShare(kind, 'none'), cacheShare(kind, 'derived')];
    assert.ok(derived.cached > 0.9 && derived.cold === 0, JSON.stringify(derived));
    assert.ok(without.cached < 0.75 * derived.cached && without.cold > 0.2, JSON.stringify(without));
  }
});

test('every strategy keeps sessions and caches at their accounts', async () => {
  const simulated = await simulate({ seed: 5, sessions: 800, accounts: 6 });
  for (const result of simulated.placements) {
    const { name, unforced, moves } = result;
    const { warm, hits } = namedOf(result);
    assert.ok(unforced <= moves / 100, `${name}: sessions move only where their account failed:\n${tableOf(simulated)}`);
    assert.ok(hits >= 0.93 * warm, `${name}: caches are kept:\n${tableOf(simulated)}`);
  }
});

test('fastest begins replies earlier than any other strategy, on a day on which accounts become faster and slower', async () => {
  const simulated = await simulate({ seed: 6, sessions: 800, accounts: 6, supply: 4 });
  const times = new Map(simulated.placements.map(({ name, firstEventMs }) => [name, firstEventMs]));
  const { fastest = 0, ...others } = Object.fromEntries(times);
  assert.ok(fastest < 0.8 * Math.min(...Object.values(others)), tableOf(simulated));
});

/** The cache use of sessions with a header or a key. */
const namedOf = ({ cached: { pinned, keyed } }: DayResult): CacheUse => ({
  warm: pinned.warm + keyed.warm,
  hits: pinned.hits + keyed.hits,
});

test('equal options give equal days', () => {
  assert.deepEqual(dayOf({ ...USUAL, sessions: 50 }), dayOf({ ...USUAL, sessions: 50 }));
});

for (const kind of ['keyed', 'unnamed'] as const) {
  test(`[Q11] under headroom new ${kind} sessions go to the account with quota left, and stay there`, async () => {
    const placed = await besideNearlySpent(kind, { strategy: 'headroom' });
    assert.deepEqual([...placed.firstTurns], [['plenty', 40]]);
    assert.equal(placed.cached[kind].hits, placed.cached[kind].warm);
    const byHash = await besideNearlySpent(kind, { strategy: 'headroom', firstTurns: 'hash' });
    if (kind === 'keyed') assert.ok((byHash.firstTurns.get(NEARLY_SPENT) ?? 0) > 10, 'the reference places them by hash');
  });
}
