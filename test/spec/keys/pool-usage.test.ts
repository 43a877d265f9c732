// The Pool's usage over real sockets: its windows for native clients (C4, Q20).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SimulatedQuota } from '../../../proxy/rehearsal/account/account-profiles.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { replyJson, turnBody } from '../../support/rehearsal-replies.ts';
import { startUsage } from '../../support/stages/clocked.ts';

const NATIVE = '/backend-api/agent/responses';
const POOL_PATHS = ['/api/agent/usage', '/meter/usage', '/backend-api/meter/usage'] as const;
const MINUTE = 60_000;

const window = (used_percent: number, window_minutes: number, reset_at?: number): NonNullable<SimulatedQuota['primary']> => ({
  used_percent,
  window_minutes,
  ...(reset_at === undefined ? {} : { reset_at }),
});

describe('[C4] the Pool’s usage', () => {
  const usageOf = async (gate: TestGateway): Promise<JsonObject> => (await gate.send('/backend-api/meter/usage')).json;

  test('is the mean over its accounts, rounded half up, with the soonest reset, on all three paths', async () => {
    const clock = new ManualClock();
    const now = clock.now() / 1000;
    const gate = await startGateway({
      clock,
      upstream: {
        clock,
        accounts: [
          { id: 'north', quota: { primary: window(10, 300, now + 5000), secondary: window(40, 10_080, now + 90_000) } },
          { id: 'south', quota: { primary: window(21, 300, now + 3000), secondary: null } },
        ],
      },
    });
    try {
      const expected = {
        plan_type: 'pool',
        rate_limit: {
          allowed: true,
          limit_reached: false,
          primary_window: { used_percent: 16, limit_window_seconds: 18_000, reset_after_seconds: 3000, reset_at: now + 3000 },
          secondary_window: { used_percent: 40, limit_window_seconds: 604_800, reset_after_seconds: 90_000, reset_at: now + 90_000 },
        },
      };
      const before = gate.upstream.requests().length;
      for (const path of POOL_PATHS) {
        const reply = await gate.send(path);
        assert.deepEqual([reply.status, reply.json], [200, expected], path);
        assert.match(reply.headers.get('content-type') ?? '', /^application\/json/);
        assert.ok(reply.headers.get('x-request-id'));
      }
      assert.equal(gate.upstream.requests().length, before, 'no account hears of it');
      const rows = await gate.rows();
      assert.deepEqual(
        rows.map(({ family, endpoint, status }) => [family, endpoint, status]),
        POOL_PATHS.map((path) => ['usage', path, 200]),
      );
    } finally {
      await gate.close();
    }
  });

  test('identifies windows by their length, in any slot', async () => {
    await using here = await startUsage({
      accounts: [
        { id: 'north', quota: { primary: window(70, 10_080), secondary: window(8, 300) } },
        { id: 'south', quota: { primary: window(30, 1440), secondary: null } },
      ],
    });
    const { rate_limit } = (await usageOf(here.gate)) as { rate_limit: Record<string, { used_percent: number }> };
    assert.equal(rate_limit.primary_window?.used_percent, 19);
    assert.equal(rate_limit.secondary_window?.used_percent, 70);
  });

  test('is made of integers, also where accounts state fractions', async () => {
    await using here = await startUsage({ accounts: ['north'] });
    const { gate, clock } = here;
    const reset = clock.now() / 1000 + 100.25;
    const headers = { 'x-agent-primary-used-percent': '12.5', 'x-agent-primary-window-minutes': '300' };
    gate.upstream.next('north', replyJson({ status: 'completed' }, { headers: { ...headers, 'x-agent-primary-reset-at': String(reset) } }));
    await gate.send(NATIVE, { body: turnBody('hi', { stream: false }) });
    const { rate_limit } = (await usageOf(gate)) as { rate_limit: Record<string, object> };
    assert.deepEqual(rate_limit.primary_window, {
      used_percent: 13,
      limit_window_seconds: 18_000,
      reset_after_seconds: 101,
      reset_at: Math.ceil(reset),
    });
  });

  test('has null windows without evidence, and with evidence older than fifteen minutes', async () => {
    await using here = await startUsage({ accounts: [{ id: 'north', quota: { primary: null, secondary: null } }, 'south'] });
    const { gate, clock } = here;
    await gate.upstream.hangUp('south');
    const before = (await usageOf(gate)) as { rate_limit: JsonObject };
    assert.notEqual(before.rate_limit.primary_window, null);
    await clock.advance(15 * MINUTE);
    assert.deepEqual(await usageOf(gate), {
      plan_type: 'pool',
      rate_limit: { allowed: true, limit_reached: false, primary_window: null, secondary_window: null },
    });
  });

  test('leaves out accounts that are not routable, and counts those out of quota', async () => {
    const used = (percent: number): SimulatedQuota => ({ primary: window(percent, 300), secondary: null });
    await using here = await startUsage({
      accounts: [
        { id: 'north', quota: used(10) },
        { id: 'south', quota: used(100) },
        { id: 'inactive', quota: used(90) },
        { id: 'ineligible', quota: used(90) },
        { id: 'hidden', quota: used(90) },
        { id: 'elsewhere', quota: used(90) },
        { id: 'locked', quota: used(90) },
      ],
      config: (draft) => {
        draft.pools[0].assignments[2].active = false;
        draft.pools[0].assignments[3].eligible = false;
        draft.accounts[4].visible = false;
        draft.pools[0].assignments.splice(5, 1);
        draft.pools[0].strategy = 'fill_first';
        draft.pools[0].assignments.reverse();
      },
    });
    const { gate } = here;
    gate.upstream.next('locked', 'refuse 401');
    await gate.send(NATIVE, { body: turnBody('hi') });
    const { rate_limit } = (await usageOf(gate)) as { rate_limit: Record<string, unknown> };
    assert.deepEqual([rate_limit.allowed, rate_limit.limit_reached], [true, false]);
    assert.equal((rate_limit.primary_window as { used_percent: number }).used_percent, 55);
  });

  test('reports the limit as reached when every account is out of quota', async () => {
    await using here = await startUsage();
    const { gate } = here;
    for (const account of ['north', 'south']) gate.upstream.next(account, 'refuse 429 usage_limit_reached resets 3600');
    await gate.send(NATIVE, { body: turnBody('hi') });
    const { rate_limit } = (await usageOf(gate)) as { rate_limit: JsonObject };
    assert.deepEqual([rate_limit.allowed, rate_limit.limit_reached], [false, true]);
  });

  test('needs a key, and shows nothing of the accounts', async () => {
    await using here = await startUsage();
    for (const path of POOL_PATHS) {
      const refused = await here.gate.send(path, { headers: { authorization: 'Bearer wrong' } });
      assert.deepEqual([refused.status, refused.json.error.code], [401, 'invalid_api_key']);
      assert.doesNotMatch((await here.gate.send(path)).text, /north|south|plus|credits/i);
    }
  });
});
