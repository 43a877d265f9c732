// Random turns on every path with random ends: the gateway counts the usage that the accounts delivered, and nothing stays reserved
// afterwards.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { RandomSource } from '../rules/dialect/bodies.ts';
import { seedsOf } from '../support/sample.ts';
import { until } from '../support/until.ts';
import { assertBalanced, assertStored, sampled, type ToldLimit, usedOf } from './accounting/balance.ts';
import { visit } from './accounting/client.ts';
import { inputEstimate, ROUTES, type RouteName } from './accounting/client-routes.ts';
import { paused } from './accounting/deliveries.ts';
import { sumOf } from './accounting/expected-usage.ts';
import { randomTurn } from './accounting/random-turns.ts';
import { Stage, secretOf } from './accounting/stage.ts';
import { reservedOutput, Turns } from './accounting/turns.ts';
import { anchoredCompaction, detachedTurn, OUTCOMES, prewarm } from './accounting/websocket-turns.ts';

/** These draw all cases that the test needs. Another seed may miss one. */
const COMPLETE = [1, 2, 3];
const ROUNDS = 4;
const HOUR_MS = 3_600_000;
const NAMES = Object.keys(ROUTES) as RouteName[];

/** Asserts that the limits of a running turn count its reservation (Q19). */
async function assertReserved(turns: Turns): Promise<void> {
  const { stage, random } = turns;
  const route = ROUTES['native, streamed'];
  const { planned, asked, key } = turns.plan(route, 'limited', (id) => [paused(random, id).whole]);
  const visiting = visit(stage, planned, { route, key, sent: route.send(asked) });
  await until('the turn', () => planned.arrived > 0 || undefined);
  const { json } = await stage.gate.send('/v1/usage', { headers: { authorization: `Bearer ${secretOf(key)}` } });
  const own = turns.entries.filter((entry) => entry.key === key);
  const reserved = inputEstimate(asked.prompt) + reservedOutput(asked);
  for (const limit of json.limits as readonly ToldLimit[]) {
    const settled = limit.limit_type === 'concurrent' ? 0 : usedOf(own, limit, stage.clock.now());
    if (limit.limit_type === 'usd') continue;
    assert.equal(limit.current_value - settled, limit.limit_type === 'tokens' ? reserved : 1, JSON.stringify(limit));
  }
  await until(
    'the pause',
    () => stage.gate.upstream.release(planned.account) ?? (stage.gate.accounts().every(({ inFlight }) => inFlight === 0) || undefined),
  );
  await visiting;
  await turns.settle();
}

/** Asserts that refusals before dispatch count nothing. */
async function assertUncounted({ stage: { gate } }: Turns): Promise<void> {
  const authorization = `Bearer ${secretOf('limited')}`;
  const rows = [
    ['/v1/responses', { model: 'model-a' }, 'Bearer pg-of-nobody', 401],
    ['/v1/responses', { model: 'of no catalog', input: 'x' }, authorization, 400],
    ['/v1/responses', '{', authorization, 400],
    ['/v1/embeddings', {}, authorization, 404],
    ['/v1/chat/completions', { model: 'model-a', messages: [], n: 2 }, authorization, 400],
  ] as const;
  for (const [path, body, key, status] of rows) {
    assert.equal((await gate.send(path, { body, headers: { authorization: key } })).status, status, JSON.stringify(body));
  }
}

/** Asserts that the seed has drawn all cases that the test needs. */
async function assertEveryKind({ stage, entries, attempts }: Turns): Promise<void> {
  const page = await stage.gate.metrics();
  assert.ok(sampled(page, 'turns_ended_total', { code: 'rate_limit_exceeded' }) > 0, 'a limit refused a turn');
  assert.ok(attempts > entries.length, 'a turn failed over');
  const { cached_input_tokens, cost_nanos, held_tokens, unknown } = sumOf(entries);
  assert.ok(Math.min(cached_input_tokens, cost_nanos, held_tokens, unknown) > 0, 'cached tokens, costs, unknown usage');
  assert.ok(entries.some(({ estimated }) => estimated) && new Set(entries.map(({ day }) => day)).size > 1, 'estimates, and several days');
}

for (const seed of seedsOf(...COMPLETE)) {
  test(`[D5] [Q18] [Q19] seed ${seed}: totals by key, Pool and day equal the usage that the accounts reported, and nothing stays reserved`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-accounting-'));
    const stage = await Stage.open(`sqlite:${join(folder, 'store.db')}`);
    try {
      const turns = new Turns(stage, new RandomSource(seed));
      for (let round = 0; round < ROUNDS; round++) {
        await Promise.all(NAMES.map((name) => randomTurn(turns, name)));
        await turns.settle();
        for (const outcome of OUTCOMES) await detachedTurn(turns, turns.random.pick(['open', 'limited', 'guest']), outcome);
        await prewarm(turns, turns.random.pick(['open', 'limited']));
        await anchoredCompaction(turns, turns.random.pick(['open', 'limited']));
        await assertReserved(turns);
        await assertUncounted(turns);
        await assertBalanced(turns);
        stage.gate.heal();
        stage.gate.stopOwnCalls();
        await stage.clock.advance(Math.floor(turns.random.roll() * 16 + 1) * HOUR_MS);
      }
      if (COMPLETE.includes(seed)) await assertEveryKind(turns);
      // Settled usage survives a restart; counters of the process start at 0.
      await stage.restart();
      await assertStored(turns);
    } finally {
      await stage.gate.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
