// The limits of keys and their ledger, with a manual clock.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Estimate, KeyLimits, type Reserved } from '../../proxy/keys/key-limits.ts';
import { Ledger } from '../../proxy/keys/ledger.ts';
import { OutputForecast } from '../../proxy/keys/output-forecast.ts';
import { SlidingSum } from '../../proxy/keys/sliding-sum.ts';
import { costOf, noTotals, type Totals } from '../../proxy/keys/usage-totals.ts';
import { Refusal } from '../../proxy/turn/refusal.ts';
import type { KeyLimits as Configured } from '../../proxy/turn/settings.ts';
import type { UsageRow } from '../../store/store.ts';
import { HandClock } from '../models/support.ts';

const DAY = 86_400_000;

/** @param expected default: no more than the least */
function estimateOf(tokens: number, costNanos: number, expected = { tokens, costNanos }): Estimate {
  return { least: { tokens, costNanos }, expected };
}

interface Refused {
  readonly message: string;
  readonly type: string;
  readonly resets_at: number | undefined;
  readonly retry: string | undefined;
  readonly final: boolean;
}

class World {
  readonly clock = new HandClock();
  readonly rows: UsageRow[];
  readonly ledger: Ledger;
  readonly limits: KeyLimits;

  constructor(rows: UsageRow[] = []) {
    this.rows = rows;
    const store = { add: (row: UsageRow) => void rows.push(row), load: async (since: number) => rows.filter(({ day }) => day >= since) };
    this.ledger = new Ledger(store, this.clock);
    this.limits = new KeyLimits(this.ledger, this.clock);
  }

  reserve(limits: Configured, tokens = 0, costNanos = 0): Reserved {
    const reserved = this.limits.reserve({ id: 'ci', limits }, () => estimateOf(tokens, costNanos));
    assert.ok(!(reserved instanceof Refusal), 'the turn was refused');
    return reserved;
  }

  refused(limits: Configured, tokens = 0, costNanos = 0): Refused {
    const refusal = this.limits.reserve({ id: 'ci', limits }, () => estimateOf(tokens, costNanos));
    assert.ok(refusal instanceof Refusal, 'the turn was not refused');
    const { headers, error } = refusal;
    const { message, type, resets_at } = error;
    return { message, type, resets_at, retry: headers['retry-after'], final: headers['x-should-retry'] === 'false' };
  }

  settle(totals: Partial<Totals>): void {
    this.ledger.settle('ci', 'team', { ...noTotals(), requests: 1, ...totals });
  }

  current(limits: Configured): readonly number[] {
    return this.limits.states({ id: 'ci', limits }).map(({ current_value }) => current_value);
  }
}

describe('reservations', () => {
  test('settle once, also when release is called again', () => {
    const world = new World();
    const limits = { concurrent: 2, tokens_per_minute: 1000, requests_per_minute: 10 };
    const { release } = world.reserve(limits, 400);
    assert.deepEqual(world.current(limits), [1, 400, 1]);
    for (let i = 0; i < 3; i++) release({ tokens: 50 });
    assert.deepEqual(world.current(limits), [1, 50, 0]);
  });

  test('of turns that reached no account leave nothing, also after the minute', async () => {
    const world = new World();
    const limits = { requests_per_minute: 5, tokens_per_minute: 1000, concurrent: 5 };
    const first = world.reserve(limits, 100);
    await world.clock.advance(10);
    const second = world.reserve(limits, 100);
    first.release(undefined);
    assert.deepEqual(world.current(limits), [1, 100, 1]);
    await world.clock.advance(60_000);
    second.release(undefined);
    assert.deepEqual(world.current(limits), [0, 0, 0]);
  });

  test('ask for the cost of a turn only where a limit needs it', () => {
    const world = new World();
    const asked = (limits: Configured): boolean => {
      let was = false;
      world.limits.reserve({ id: 'ci', limits }, () => {
        was = true;
        return estimateOf(1, 1);
      });
      return was;
    };
    assert.deepEqual(
      [asked({}), asked({ concurrent: 5 }), asked({ requests_per_day: 5 }), asked({ usd_per_day: 5 })],
      [false, false, false, true],
    );
  });

  test('a refused turn reserves nothing', () => {
    const world = new World();
    const limits = { tokens_per_minute: 100, concurrent: 5, requests_per_minute: 5 };
    world.refused(limits, 101);
    assert.deepEqual(world.current(limits), [0, 0, 0]);
    world.reserve(limits, 100);
  });

  test('the refusal names the limit with the longest wait', () => {
    const world = new World();
    const limits = { requests_per_minute: 1, requests_per_day: 1, concurrent: 1 };
    world.reserve(limits);
    const refused = world.refused(limits);
    assert.match(refused.message, /1 requests per day \(requests_per_day\)/);
    assert.equal(refused.final, true);
    assert.deepEqual(world.refused({ concurrent: 1 }), {
      message: 'The limit of this API key is reached: 1 concurrent requests (concurrent). Try again in 1 s.',
      type: 'rate_limit_error',
      resets_at: undefined,
      retry: '1',
      final: false,
    });
  });

  test('the wait ends when this turn fits', async () => {
    const world = new World();
    const limits = { tokens_per_minute: 1000 };
    for (const tokens of [300, 300, 300]) {
      world.reserve(limits, tokens).release({ tokens });
      await world.clock.advance(10_000);
    }
    assert.equal(world.refused(limits, 101).retry, '30');
    assert.equal(world.refused(limits, 500).retry, '40');
    assert.equal(world.refused(limits, 1000).retry, '50');
  });

  test('a short wait for midnight is final too', async () => {
    const world = new World();
    await world.clock.advance(DAY - (world.clock.now() % DAY) - 5_000);
    world.settle({});
    assert.deepEqual(world.refused({ requests_per_day: 1 }), {
      message: 'The limit of this API key is reached: 1 requests per day (requests_per_day). It resets at 2023-11-15T00:00:00Z.',
      type: 'usage_limit_reached',
      resets_at: Date.UTC(2023, 10, 15) / 1000,
      retry: '5',
      final: true,
    });
  });

  test('a week’s limit has room when enough of the oldest days have passed', async () => {
    const world = new World();
    for (const input_tokens of [100, 200, 400]) {
      world.settle({ input_tokens });
      await world.clock.advance(DAY);
    }
    const limits = { tokens_per_week: 700 };
    const midnight = Math.floor(world.clock.now() / DAY) * DAY;
    const days = (count: number): number => (midnight + count * DAY) / 1000;
    assert.equal(world.refused(limits, 50).resets_at, days(4));
    assert.equal(world.refused(limits, 150).resets_at, days(5));
    assert.equal(world.refused(limits, 650).resets_at, days(6));
    assert.equal(world.refused(limits, 50).retry, undefined, 'no Retry-After past 60 s');
  });
});

describe('[Q19] a reservation that can never fit', () => {
  test('is refused with what it needs and the limit, without a time', () => {
    const world = new World();
    assert.deepEqual(world.refused({ tokens_per_minute: 1000, requests_per_minute: 5 }, 1001), {
      message:
        'This request needs about 1001 tokens, which never fits the limit of this API key: 1000 tokens per minute (tokens_per_minute).',
      type: 'usage_limit_reached',
      resets_at: undefined,
      retry: undefined,
      final: true,
    });
    assert.match(
      world.refused({ usd_per_day: 0.5 }, 0, 600_000_000).message,
      /about 0\.6 US dollars.*0\.5 US dollars per day \(usd_per_day\)/,
    );
  });

  test('is refused so before any other limit, and fits exactly the limit', () => {
    const world = new World();
    const limits = { tokens_per_minute: 1000, requests_per_day: 1 };
    world.reserve(limits, 1000).release({ tokens: 0 });
    world.settle({});
    assert.match(world.refused(limits, 1001).message, /never fits/);
    assert.match(world.refused(limits, 1000).message, /requests per day/);
  });

  test('is none for a high forecast: it reserves the whole window instead', () => {
    const world = new World();
    const limits = { tokens_per_minute: 1000, tokens_per_day: 800, usd_per_day: 1 };
    const reserved = world.limits.reserve({ id: 'ci', limits }, () => estimateOf(500, 1, { tokens: 5000, costNanos: 5e9 }));
    assert.ok(!(reserved instanceof Refusal));
    assert.deepEqual(reserved.amounts, { requests: 1, tokens: 800, costNanos: 1e9 });
  });
});

test('[Q1] a day limit that only running turns fill has no reset time', async () => {
  const world = new World();
  const limits = { tokens_per_day: 1000 };
  const running = world.reserve(limits, 600);
  const { type, resets_at, retry, final } = world.refused(limits, 600);
  assert.deepEqual([type, resets_at, retry, final], ['usage_limit_reached', undefined, undefined, true]);
  running.release(undefined);
  world.reserve(limits, 600);
});

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
  test('keeps keys, Pools and days apart, and forgets what is older than 28 days', async () => {
    const world = new World();
    world.settle({ input_tokens: 1 });
    world.ledger.settle('other', 'team', { ...noTotals(), requests: 1, input_tokens: 10 });
    world.ledger.settle('ci', 'elsewhere', { ...noTotals(), requests: 1, input_tokens: 100 });
    await world.clock.advance(DAY);
    world.settle({ input_tokens: 1000 });
    assert.deepEqual(
      [world.ledger.ofKey('ci', 28), world.ledger.ofPool('team', 28), world.ledger.ofKey('ci', 1)].map(({ input_tokens }) => input_tokens),
      [1101, 1011, 1000],
    );
    await world.clock.advance(27 * DAY);
    assert.equal(world.ledger.ofPool('team', 28).input_tokens, 1000);
    assert.equal(world.ledger.ofKey('nobody', 28).requests, 0);
  });

  test('starts with the totals of the store, and adds every turn to the store', async () => {
    const before = new World();
    before.settle({ input_tokens: 5, cost_nanos: 7 });
    before.settle({ output_tokens: 6, unknown: 1 });
    const after = new World(before.rows);
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
    const ledger = new Ledger({ add: () => undefined, load: () => Promise.reject(new Error('locked')) }, new HandClock());
    await ledger.load();
    assert.equal(ledger.ofKey('ci', 28).requests, 0);
  });

  test('the costs of ten thousand cheap turns add up exactly', () => {
    const world = new World();
    const prices = { input: 0.1, cached_input: 0.01, output: 0.3 };
    for (let turn = 0; turn < 10_000; turn++) {
      world.settle({ cost_nanos: costOf({ input_tokens: 3, cached_input_tokens: 1, output_tokens: 1 }, prices) });
    }
    assert.equal(world.ledger.ofKey('ci', 28).cost_nanos, 10_000 * 510);
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
