// The limits of keys and their ledger, on one node and over several, with a manual clock.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Ledger } from '../../../proxy/keys/ledger.ts';
import { SlidingSum } from '../../../proxy/keys/limits/sliding-sum.ts';
import { OutputForecast } from '../../../proxy/keys/output-forecast.ts';
import { noTotals, type Totals } from '../../../proxy/keys/usage-totals.ts';
import { costOf } from '../../../proxy/turn/costs/prices.ts';
import type { KeyLimits as Configured } from '../../../proxy/turn/settings.ts';
import type { UsageRow } from '../../../store/store.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { estimateOf, WORLDS } from '../limit-worlds.ts';

const DAY = 86_400_000;

for (const [name, open] of Object.entries(WORLDS)) {
  describe(`reservations on ${name}`, () => {
    test('settle once, also when settle is called again', async (context) => {
      const world = await open(context);
      const limits = { concurrent: 2, tokens_per_minute: 1000, requests_per_minute: 10 };
      const turn = await world.reserve(limits, 400);
      assert.deepEqual(await world.current(limits), [1, 400, 1]);
      for (let i = 0; i < 3; i++) await turn.settle({ input_tokens: 50 });
      assert.deepEqual(await world.current(limits), [1, 50, 0]);
      assert.deepEqual(await world.current({ tokens_per_day: 100, requests_per_day: 5 }), [1, 50]);
    });

    test('of turns that reached no account leave nothing, also after the minute', async (context) => {
      const world = await open(context);
      const limits = { requests_per_minute: 5, tokens_per_minute: 1000, concurrent: 5 };
      const first = await world.reserve(limits, 100);
      await world.clock.advance(10);
      const second = await world.reserve(limits, 100);
      await first.settle();
      assert.deepEqual(await world.current(limits), [1, 100, 1]);
      await world.clock.advance(60_250);
      assert.deepEqual(await world.current(limits), [0, 100, 1]);
      await second.settle();
      assert.deepEqual(await world.current(limits), [0, 0, 0]);
    });

    test('compute the cost of a turn only where a limit needs it', async (context) => {
      const world = await open(context);
      const asked = async (limits: Configured): Promise<boolean> => {
        let was = false;
        await world.reserveEstimated(limits, () => {
          was = true;
          return estimateOf(1, 1);
        });
        return was;
      };
      assert.deepEqual(
        [await asked({ concurrent: 5 }), await asked({ requests_per_day: 5 }), await asked({ usd_per_day: 5 })],
        [false, false, true],
      );
    });

    test('are not made for a refused turn', async (context) => {
      const world = await open(context);
      const limits = { tokens_per_minute: 100, concurrent: 5, requests_per_minute: 5 };
      await world.refused(limits, 101);
      assert.deepEqual(await world.current(limits), [0, 0, 0]);
      await world.reserve(limits, 100);
      await world.refused(limits, 1);
      assert.deepEqual(await world.current(limits), [1, 100, 1]);
    });

    test('of running and of settled turns count against a day and a week', async (context) => {
      const world = await open(context);
      const limits = { requests_per_day: 3, tokens_per_week: 1000, usd_per_day: 1 };
      await (await world.reserve(limits, 300, 4e8)).settle({ input_tokens: 200, output_tokens: 50, cost_nanos: 3e8 });
      await world.settle({ input_tokens: 100, held_tokens: 7, cost_nanos: 1e8, held_nanos: 1e7 });
      const running = await world.reserve(limits, 500, 2e8);
      assert.deepEqual(await world.states(limits), [
        { limit_type: 'requests', limit_window: 'day', max_value: 3, current_value: 3, remaining_value: 0, reset_at: 1_700_006_400 },
        { limit_type: 'tokens', limit_window: 'week', max_value: 1000, current_value: 857, remaining_value: 143, reset_at: 1_700_524_800 },
        { limit_type: 'usd', limit_window: 'day', max_value: 1, current_value: 0.61, remaining_value: 0.39, reset_at: 1_700_006_400 },
      ]);
      for (const [limit, tokens, costNanos] of [
        ['requests_per_day', 0, 0],
        ['tokens_per_week', 144, 0],
        ['usd_per_day', 0, 390_000_001],
      ] as const)
        assert.match((await world.refused({ [limit]: limits[limit] }, tokens, costNanos)).message, new RegExp(`\\(${limit}\\)`));
      await running.settle();
      await world.reserve(limits, 643, 390_000_000);
    });

    test('the refusal names the limit with the longest wait', async (context) => {
      const world = await open(context);
      const limits = { requests_per_minute: 1, requests_per_day: 1, concurrent: 1 };
      await world.reserve(limits);
      const refused = await world.refused(limits);
      assert.match(refused.message, /1 requests per day \(requests_per_day\)/);
      assert.equal(refused.final, true);
      assert.deepEqual(await world.refused({ concurrent: 1 }), {
        message: 'The limit of this API key is reached: 1 concurrent requests (concurrent). Try again in 1 s.',
        type: 'rate_limit_error',
        resets_at: undefined,
        retry: '1',
        final: false,
      });
    });

    test('[Q1] a limit of a minute states a wait of a minute at most, and is never final', async (context) => {
      const world = await open(context);
      // Just after the end of a slot of the store, in which minutes end later.
      await world.clock.advance(250 - (world.clock.now() % 250) + 1);
      await world.reserve({ requests_per_minute: 1 });
      await (await world.reserve({ tokens_per_minute: 100 }, 100)).settle({ input_tokens: 100 });
      for (const [limits, tokens] of [
        [{ requests_per_minute: 1 }, 0],
        [{ tokens_per_minute: 100 }, 1],
      ] as const) {
        const { message, type, retry, final } = await world.refused(limits, tokens);
        assert.deepEqual([type, retry, final], ['rate_limit_error', '60', false]);
        assert.match(message, /\. Try again in 60 s\.$/);
      }
    });

    test('the wait ends when this turn fits', async (context) => {
      const world = await open(context);
      const limits = { tokens_per_minute: 1000 };
      for (const tokens of [300, 300, 300]) {
        await (await world.reserve(limits, tokens)).settle({ input_tokens: tokens });
        await world.clock.advance(10_000);
      }
      assert.equal((await world.refused(limits, 101)).retry, '30');
      assert.equal((await world.refused(limits, 500)).retry, '40');
      assert.equal((await world.refused(limits, 1000)).retry, '50');
      await world.clock.advance(29_999);
      await world.refused(limits, 101);
      await world.clock.advance(1);
      await world.reserve(limits, 400);
    });

    test('a short wait for midnight is final too', async (context) => {
      const world = await open(context);
      await world.clock.advance(DAY - (world.clock.now() % DAY) - 5_000);
      await world.settle({});
      assert.deepEqual(await world.refused({ requests_per_day: 1 }), {
        message: 'The limit of this API key is reached: 1 requests per day (requests_per_day). It resets at 2023-11-15T00:00:00Z.',
        type: 'usage_limit_reached',
        resets_at: Date.UTC(2023, 10, 15) / 1000,
        retry: '5',
        final: true,
      });
    });

    test('a week’s limit has room when enough of the oldest days have passed', async (context) => {
      const world = await open(context);
      for (const input_tokens of [100, 200, 400]) {
        await world.settle({ input_tokens });
        await world.clock.advance(DAY);
      }
      const limits = { tokens_per_week: 700 };
      const midnight = Math.floor(world.clock.now() / DAY) * DAY;
      const days = (count: number): number => (midnight + count * DAY) / 1000;
      assert.equal((await world.refused(limits, 50)).resets_at, days(4));
      assert.equal((await world.refused(limits, 150)).resets_at, days(5));
      assert.equal((await world.refused(limits, 650)).resets_at, days(6));
      assert.equal((await world.refused(limits, 50)).retry, undefined, 'no Retry-After past 60 s');
    });

    test('[Q1] a day limit that only running turns fill has no reset time', async (context) => {
      const world = await open(context);
      const limits = { tokens_per_day: 1000 };
      const running = await world.reserve(limits, 600);
      const { type, resets_at, retry, final } = await world.refused(limits, 600);
      assert.deepEqual([type, resets_at, retry, final], ['usage_limit_reached', undefined, undefined, true]);
      await running.settle();
      await world.reserve(limits, 600);
    });
  });

  describe(`[Q19] a reservation that can never fit, on ${name}`, () => {
    test('is refused with the needed amount and the limit, without a time', async (context) => {
      const world = await open(context);
      assert.deepEqual(await world.refused({ tokens_per_minute: 1000, requests_per_minute: 5 }, 1001), {
        message:
          'This request needs about 1001 tokens, which never fits the limit of this API key: 1000 tokens per minute (tokens_per_minute).',
        type: 'usage_limit_reached',
        resets_at: undefined,
        retry: undefined,
        final: true,
      });
      assert.match(
        (await world.refused({ usd_per_day: 0.5 }, 0, 600_000_000)).message,
        /about 0\.6 US dollars.*0\.5 US dollars per day \(usd_per_day\)/,
      );
    });

    test('is refused before any other limit, and one of exactly the limit fits', async (context) => {
      const world = await open(context);
      const limits = { tokens_per_minute: 1000, requests_per_day: 1 };
      await (await world.reserve(limits, 1000)).settle({});
      assert.match((await world.refused(limits, 1001)).message, /never fits/);
      assert.match((await world.refused(limits, 1000)).message, /requests per day/);
    });

    test('is not refused for a high forecast: it reserves the whole window instead', async (context) => {
      const world = await open(context);
      const limits = { tokens_per_minute: 1000, tokens_per_day: 800, usd_per_day: 1 };
      const estimate = () => estimateOf(500, 1, { tokens: 5000, costNanos: 5e9 });
      assert.deepEqual((await world.reserveEstimated(limits, estimate)).amounts, { requests: 1, tokens: 800, costNanos: 1e9 });
    });
  });
}

class SettledUsage {
  readonly clock = new ManualClock();
  readonly rows: UsageRow[];
  readonly ledger: Ledger;

  constructor(rows: UsageRow[] = []) {
    this.rows = rows;
    const store = { add: (row: UsageRow) => void rows.push(row), load: async (since: number) => rows.filter(({ day }) => day >= since) };
    this.ledger = new Ledger(store, this.clock);
  }

  settle(totals: Partial<Totals>): void {
    this.ledger.settle('ci', 'team', { ...noTotals(), requests: 1, ...totals });
  }
}

describe('[Q19] the output forecast', () => {
  test('is twice the mean of the last 50 turns, at least 2,048', () => {
    const forecast = new OutputForecast();
    assert.equal(forecast.tokens('ci', 'model-a'), 2048);
    forecast.add('ci', 'model-a', 100);
    assert.equal(forecast.tokens('ci', 'model-a'), 2048);
    for (let i = 0; i < 49; i++) forecast.add('ci', 'model-a', 2000);
    assert.equal(forecast.tokens('ci', 'model-a'), 2 * 1962);
    forecast.add('ci', 'model-a', 2000);
    assert.equal(forecast.tokens('ci', 'model-a'), 4000, 'the first turn no longer counts');
    for (let i = 0; i < 500; i++) forecast.add('ci', 'model-a', 3001);
    assert.equal(forecast.tokens('ci', 'model-a'), 6002);
  });

  test('keeps keys and models apart', () => {
    const forecast = new OutputForecast();
    forecast.add('ci', 'model-a', 9000);
    assert.deepEqual(
      [forecast.tokens('ci', 'model-a'), forecast.tokens('ci', 'model-b'), forecast.tokens('other', 'model-a')],
      [18_000, 2048, 2048],
    );
  });
});

describe('the ledger', () => {
  test('keeps keys, Pools and days apart, and drops days older than 28 days', async () => {
    const settled = new SettledUsage();
    settled.settle({ input_tokens: 1 });
    settled.ledger.settle('other', 'team', { ...noTotals(), requests: 1, input_tokens: 10 });
    settled.ledger.settle('ci', 'elsewhere', { ...noTotals(), requests: 1, input_tokens: 100 });
    await settled.clock.advance(DAY);
    settled.settle({ input_tokens: 1000 });
    assert.deepEqual(
      [settled.ledger.ofKey('ci', 28), settled.ledger.ofPool('team', 28), settled.ledger.ofKey('ci', 1)].map(
        ({ input_tokens }) => input_tokens,
      ),
      [1101, 1011, 1000],
    );
    await settled.clock.advance(27 * DAY);
    assert.equal(settled.ledger.ofPool('team', 28).input_tokens, 1000);
    assert.equal(settled.ledger.ofKey('nobody', 28).requests, 0);
  });

  test('starts with the totals of the store, and adds every turn to the store', async () => {
    const before = new SettledUsage();
    before.settle({ input_tokens: 5, cost_nanos: 7 });
    before.settle({ output_tokens: 6, unknown: 1 });
    const after = new SettledUsage(before.rows);
    await after.ledger.load();
    assert.deepEqual(after.ledger.ofKey('ci', 28), {
      ...noTotals(),
      requests: 2,
      unknown: 1,
      input_tokens: 5,
      output_tokens: 6,
      cost_nanos: 7,
    });
  });

  test('starts empty where the store cannot be read', async () => {
    const ledger = new Ledger({ add: () => undefined, load: () => Promise.reject(new Error('locked')) }, new ManualClock());
    await ledger.load();
    assert.equal(ledger.ofKey('ci', 28).requests, 0);
  });

  test('the costs of ten thousand cheap turns add up exactly', () => {
    const settled = new SettledUsage();
    const prices = { input: 0.1, cached_input: 0.01, output: 0.3 };
    for (let turn = 0; turn < 10_000; turn++) {
      settled.settle({ cost_nanos: costOf({ input_tokens: 3, cached_input_tokens: 1, output_tokens: 1 }, prices) });
    }
    assert.equal(settled.ledger.ofKey('ci', 28).cost_nanos, 10_000 * 510);
  });

  test('a cost is never negative, for any stated share of cached input', () => {
    const prices = { input: 1, cached_input: 0, output: 1 };
    assert.equal(costOf({ input_tokens: 10, cached_input_tokens: 50, output_tokens: null }, prices), 0);
    assert.equal(costOf({ input_tokens: 10, cached_input_tokens: null, output_tokens: 1 }, undefined), 0);
  });
});

test('a minute’s sum is exact for many amounts, and keeps no more than a minute', () => {
  const sum = new SlidingSum();
  const kept: [number, number][] = [];
  let now = 0;
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  for (let step = 0; step < 20_000; step++) {
    now += random(40);
    if (random(3) > 0) {
      const amount = random(100);
      sum.add(amount, now);
      kept.push([now, amount]);
    } else if (kept.length > 0) {
      const entry = kept[Math.max(0, kept.length - 1 - random(5))];
      if (entry && entry[1] > 0) {
        sum.undo(1, entry[0], now);
        if (entry[0] + 60_000 > now) entry[1] -= 1;
      }
    }
    if (step % 50 > 0) continue;
    const expected = kept.reduce((total, [at, amount]) => (at + 60_000 > now ? total + amount : total), 0);
    assert.equal(sum.sum(now), expected);
  }
  assert.equal(sum.sum(now + 60_000), 0);
  assert.equal(sum.firstExpiry(now + 60_000), undefined);
});
