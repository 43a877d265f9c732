// Caps on the cost of higher tiers, over the wire: reservations, settlements, prices and refusals of one node (AA69 to AA72).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../../accounts/health/support.ts';
import { ManualClock } from '../../../support/clocks/manual-clock.ts';
import { type Draft, type GatewayOptions, type Reply, startGateway, type TestGateway } from '../../../support/gateway.ts';
import { replyEvents, turnBody } from '../../../support/rehearsal-replies.ts';
import { until } from '../../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
/** A million output tokens cost a million dollars, so one token costs a dollar. */
const PRICES = { input: 0, cached_input: 0, output: 1_000_000 };

const capped = (overflow: Readonly<Record<string, unknown>>, more: (draft: Draft) => void = () => undefined): GatewayOptions => ({
  upstream: { accounts: ['north', 'south'], strict: false },
  config: (draft) => {
    draft.pools[0].assignments = [{ account: 'north' }, { account: 'south', tier: 1 }];
    draft.pools[0].overflow = overflow;
    draft.pools[0].models = { 'model-a': { prices: PRICES } };
    more(draft);
  },
});

const turn = (gate: TestGateway, changes: Readonly<Record<string, unknown>> = {}): Promise<Reply> =>
  gate.send(NATIVE, { body: turnBody('hi', { max_output_tokens: 10, ...changes } as never) });
const outOfQuota = (gate: TestGateway): void => gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 90_000_000 }));
const asked = (gate: TestGateway): readonly string[] => gate.upstream.turns().map(({ account }) => account);
const spending = (output_tokens: number) =>
  replyEvents([
    {
      type: 'response.completed',
      sequence_number: 0,
      response: { id: 'resp_1', object: 'response', status: 'completed', output: [], usage: { input_tokens: 1, output_tokens } },
    },
  ]);
const statusOf = async (gate: TestGateway) =>
  (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as { pools: { overflow: unknown }[] };

test('[AA69] [AA72] a cap is reserved before dispatch and settled at the cost; without room the refusal is that of the lower tier', async () => {
  await using gate = await startGateway(capped({ usd_per_day: 25 }));
  outOfQuota(gate);
  gate.upstream.next('south', spending(4), 'stall before headers');
  assert.equal((await turn(gate)).status, 200);
  // 4 are used and 10 are reserved; the 11 that are left have room for one turn.
  const running = turn(gate);
  await gate.upstream.stalled('south');
  const refused = await turn(gate, { max_output_tokens: 12 });
  assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached']);
  assert.equal((await gate.row(refused))?.account, null);
  gate.upstream.release();
  assert.equal((await running).status, 200);
  assert.deepEqual(asked(gate), ['south', 'south']);
  const metrics = await gate.metrics();
  assert.match(metrics, /poolgate_overflow_refused_total\{pool="team",reason="overflow_spent"\} 1\n/);
  assert.match(metrics, /poolgate_overflow_left_usd\{pool="team",tier="all",window="day"\} [\d.]+\n/);
  assert.match(metrics, /poolgate_overflow_cost_usd_total\{pool="team",tier="1"\} [\d.]+\n/);
  const rows = await until('the audit row', async () => {
    const found = await gate.audit('overflow.spent');
    return found.length > 0 ? found : undefined;
  });
  assert.deepEqual(
    rows.map(({ fields }) => fields),
    [[{ path: 'pools[team].overflow.usd_per_day', from: null, to: 'spent' }]],
  );
  assert.equal((await gate.send('/v1/usage')).json.pool.request_count, 2, 'what a cap counts is in no total of the Pool');
});

test('[AA69] caps of one tier and of all tiers hold beside each other, and the next tier is asked where one is spent', async () => {
  await using gate = await startGateway({
    ...capped({ usd_per_day: 100, tiers: { 1: { usd_per_day: 5 } } }, (draft) => {
      draft.pools[0].assignments.push({ account: 'west', tier: 2 });
    }),
    upstream: { accounts: ['north', 'south', 'west'], strict: false },
  });
  outOfQuota(gate);
  const reply = await turn(gate);
  assert.deepEqual(asked(gate), ['west']);
  const row = await gate.row(reply);
  assert.deepEqual([row?.tier, row?.why?.others.overflow_spent], [2, 1]);
  const [pool] = (await statusOf(gate)).pools;
  assert.deepEqual(
    (pool as { overflow: { tier: unknown; window: string; max: number }[] }).overflow.map(({ tier, window, max }) => [tier, window, max]),
    [
      [null, 'day', 100],
      [1, 'day', 5],
    ],
  );
});

test('[AA69] a day ends at midnight UTC, a month with its last day', async () => {
  const clock = new ManualClock();
  await using gate = await startGateway({ ...capped({ tiers: { 1: { usd_per_day: 10, usd_per_month: 14 } } }), clock });
  const spend = async (): Promise<number> => {
    outOfQuota(gate);
    gate.upstream.next('south', spending(7));
    return (await turn(gate, { max_output_tokens: 7 })).status;
  };
  const toNextDay = (): void => clock.skip(86_400_000 - (clock.now() % 86_400_000));
  const toNextMonth = (): void => {
    const date = new Date(clock.now());
    clock.skip(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) - clock.now());
  };
  toNextMonth();
  assert.deepEqual([await spend(), await spend()], [200, 429]);
  toNextDay();
  assert.deepEqual([await spend(), await spend()], [200, 429]);
  toNextDay();
  assert.equal(await spend(), 429, 'the month is spent');
  toNextMonth();
  assert.equal(await spend(), 200);
});

test('[AA72] the notice of a cap names the window that refused, once in each', async () => {
  const clock = new ManualClock();
  await using gate = await startGateway({ ...capped({ tiers: { 1: { usd_per_day: 10, usd_per_month: 14 } } }), clock });
  const spend = async (): Promise<number> => {
    outOfQuota(gate);
    gate.upstream.next('south', spending(7));
    return (await turn(gate, { max_output_tokens: 7 })).status;
  };
  const told = (count: number) =>
    until(`${count} notices`, async () => {
      const rows = await gate.audit('overflow.spent');
      return rows.length === count ? rows.map(({ fields }) => (fields as readonly { path: string }[])[0]?.path).sort() : undefined;
    });
  const toNextDay = (): void => clock.skip(86_400_000 - (clock.now() % 86_400_000));
  const date = new Date(clock.now());
  clock.skip(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) - clock.now());
  const month = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 2)).toISOString();
  assert.deepEqual([await spend(), await spend(), await spend()], [200, 429, 429]);
  const day = 'pools[team].overflow.tiers.1.usd_per_day';
  assert.deepEqual(await told(1), [day], 'the month has room');
  toNextDay();
  assert.equal(await spend(), 200);
  toNextDay();
  assert.deepEqual([await spend(), await spend()], [429, 429], 'the day has room, the month has none');
  assert.deepEqual(await told(2), [day, 'pools[team].overflow.tiers.1.usd_per_month']);
  const logged = gate.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === 'overflow_spent');
  assert.deepEqual(
    logged.map(({ window, tier }) => [window, tier]),
    [
      ['day', 1],
      ['month', 1],
    ],
  );
  assert.equal(logged[1].resets_at, month);
});

test('[AA70] a tier with a cap takes no turn of a model without a price', async () => {
  await using gate = await startGateway(
    capped({ usd_per_day: 100 }, (draft) => {
      draft.pools[0].models = {};
    }),
  );
  outOfQuota(gate);
  const refused = await turn(gate);
  assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached']);
  assert.deepEqual(asked(gate), []);
  assert.match(await gate.metrics(), /poolgate_overflow_refused_total\{pool="team",reason="no_price"\} 1\n/);
});

test('[AA70] what an account declares wins over the Pool’s price, and settles the turn', async () => {
  await using gate = await startGateway(
    capped({ usd_per_day: 100 }, (draft) => {
      draft.keys[0].limits = { usd_per_day: 1000 };
    }),
  );
  outOfQuota(gate);
  gate.upstream.next('south', spending(3));
  assert.equal((await turn(gate)).status, 200);
  const { limits } = (await gate.send('/v1/usage')).json;
  assert.equal(limits[0].current_value, 3);
});

test('[AA69] a failed attempt gives its reservation back', async () => {
  await using gate = await startGateway(capped({ usd_per_day: 10 }));
  outOfQuota(gate);
  gate.upstream.next('south', 'refuse 500');
  assert.equal((await turn(gate)).status, 500);
  gate.upstream.next('south', spending(1));
  assert.equal((await turn(gate)).status, 200);
});
