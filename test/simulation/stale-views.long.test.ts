// The simulation with several nodes: stale views of events at other nodes cost few turns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DENSE, excess, NODES, staleViews } from './stale-views.ts';

test(`[Q34] headroom over ${NODES} nodes, each a second behind, refuses at most 5 % more turns than the oracle`, async () => {
  const { oracle, alone, nodes } = await staleViews('headroom', [1]);
  const stale = nodes.get(1);
  assert.ok(stale, 'the day was run');
  const counts = JSON.stringify([oracle, alone, stale].map(({ name, turns, refused, retries }) => ({ name, turns, refused, retries })));
  assert.ok(DENSE.accounts === 1_000 && stale.turns > 5_000 && stale.sessions > 1_000, `the day is dense: ${counts}`);
  assert.ok(stale.retries > 0 && stale.moves > 100, `accounts fail and are exhausted: ${counts}`);
  assert.ok(excess(stale, oracle) <= 0.05, counts);
});
