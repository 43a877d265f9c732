// The strategies, each over the same three accounts (Q7).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hashOf } from '../../../proxy/base/bytes/rendezvous.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import { selectionOf, tally, times } from './support.ts';

describe('headroom', () => {
  const pool = { strategy: 'headroom' } as const;

  test('prefers the most quota left', async () => {
    const { quota, where } = await selectionOf({ pool });
    quota.set('north', { left: 0.3 });
    quota.set('south', { left: 0.9 });
    quota.set('west', { left: 0.6 });
    assert.deepEqual(tally(times(10, () => where())), { south: 10 });
  });

  test('spreads a burst by free concurrency', async () => {
    const { quota, take } = await selectionOf({ pool, caps: { north: 10, south: 10, west: 10 } });
    quota.set('north', { left: 0.4 });
    quota.set('south', { left: 0.8 });
    quota.set('west', { left: 0.8 });
    const { south = 0, west = 0, north = 0 } = tally(times(15, () => take().account.id));
    assert.ok(south >= 5 && west >= 5 && north > 0, JSON.stringify({ north, south, west }));
  });

  test('scores an account without evidence as half full', async () => {
    const { quota, where } = await selectionOf({ pool, accounts: ['north', 'south'] });
    quota.set('north', { left: 0.6 });
    assert.equal(where(), 'north');
    quota.set('north', { left: 0.4 });
    assert.equal(where(), 'south');
  });

  test('prefers an account of twice the weight until it has half as much left', async () => {
    const { quota, where } = await selectionOf({ pool, accounts: ['north', 'south'], weights: { north: 2 } });
    quota.set('south', { left: 0.8 });
    quota.set('north', { left: 0.41 });
    assert.equal(where(), 'north');
    quota.set('north', { left: 0.39 });
    assert.equal(where(), 'south');
  });
});

describe('least_loaded', () => {
  const pool = { strategy: 'least_loaded' } as const;

  test('prefers the account with the fewest attempts in flight', async () => {
    const { take } = await selectionOf({ pool });
    const [first, second, third] = times(3, () => take());
    assert.equal(new Set([first, second, third].map((lease) => lease?.account.id)).size, 3);
    second?.end('completed');
    assert.equal(take().account.id, second?.account.id);
  });

  test('divides the attempts in flight by the weight', async () => {
    const { take } = await selectionOf({ pool, accounts: ['north', 'south'], weights: { north: 3 } });
    assert.deepEqual(tally(times(16, () => take().account.id)), { north: 12, south: 4 });
  });
});

describe('rotation', () => {
  const pool = { strategy: 'rotation' } as const;

  test('goes round in configuration order', async () => {
    const { where } = await selectionOf({ pool });
    assert.deepEqual(
      times(6, () => where()),
      ['north', 'south', 'west', 'north', 'south', 'west'],
    );
  });

  test('gives an account of twice the weight twice the turns', async () => {
    const { where } = await selectionOf({ pool, weights: { south: 2 } });
    assert.deepEqual(tally(times(40, () => where())), { north: 10, south: 20, west: 10 });
  });

  test('an account that was unavailable catches up on no turns', async () => {
    const { where, attempt, health } = await selectionOf({ pool });
    for (let i = 0; i < 3; i++) attempt('west', { ...connectRefused });
    assert.deepEqual(tally(times(20, () => where())), { north: 10, south: 10 });
    health.reset('west');
    for (const count of Object.values(tally(times(30, () => where())))) assert.ok(count >= 9 && count <= 11, String(count));
  });
});

describe('fill_first', () => {
  const pool = { strategy: 'fill_first' } as const;

  test('uses the first account in configuration order that is below its maximum', async () => {
    const { take } = await selectionOf({ pool, caps: { north: 2, south: 1 } });
    const leases = times(4, () => take());
    assert.deepEqual(
      leases.map(({ account }) => account.id),
      ['north', 'north', 'south', 'west'],
    );
    leases[1]?.end('completed');
    assert.equal(take().account.id, 'north');
  });
});

describe('fastest', () => {
  const pool = { strategy: 'fastest' } as const;
  /** Ids of turns, of which one in twenty explores. */
  const ids = times(400, (i) => `req_${i}`);
  const exploring = ids.filter((id) => hashOf(id) % 20 === 0);
  const usual = ids.filter((id) => hashOf(id) % 20 !== 0);

  /** The account that `fastest` chooses after each account has answered one turn in this many milliseconds. */
  const fastestOf = async (firstEvents: Readonly<Record<string, number>>, { weights = {}, others = [] as readonly string[] } = {}) => {
    const world = await selectionOf({ pool, accounts: [...Object.keys(firstEvents), ...others], weights });
    const answer = (
      id: string,
      ms: number,
      { kind = 'responses', committed = true }: { kind?: RouteKind; committed?: boolean } = {},
    ): void => {
      const lease = world.take({ id: usual[0] ?? '', kind, hard: id });
      world.clock.skip(ms);
      if (committed) lease.answered();
      lease.end(committed ? 'completed' : 'neutral');
    };
    for (const [id, ms] of Object.entries(firstEvents)) answer(id, ms);
    return { ...world, answer, whereUsual: () => world.where({ id: usual[1] ?? '' }) };
  };

  test('prefers the account whose replies begin first, pinned turns counted', async () => {
    const { where } = await fastestOf({ north: 900, south: 300, west: 600 });
    assert.deepEqual(tally(usual.slice(0, 50).map((id) => where({ id }))), { south: 50 });
  });

  test('follows a lasting change, and not one slow reply', async () => {
    const { answer, whereUsual } = await fastestOf({ north: 400, south: 300 });
    answer('south', 500);
    assert.equal(whereUsual(), 'south', '340 ms smoothed');
    for (const ms of [700, 700]) answer('south', ms);
    assert.equal(whereUsual(), 'north');
  });

  test('counts an account without evidence as the mean of the others', async () => {
    const known = await fastestOf({ north: 400, south: 800 }, { others: ['west'] });
    assert.equal(known.whereUsual(), 'north');
    for (let i = 0; i < 20; i++) known.answer('north', 900);
    known.answer('south', 2_000);
    assert.equal(known.whereUsual(), 'north', '900 ms, where the mean is near 970');
    for (let i = 0; i < 20; i++) known.answer('north', 1_500);
    assert.equal(known.whereUsual(), 'south', '1,040 ms, where the mean is near 1,270');
    for (let i = 0; i < 20; i++) known.answer('south', 3_000);
    assert.equal(known.whereUsual(), 'north');
  });

  test('sends one turn in twenty to the account with the oldest evidence', async () => {
    const { where } = await fastestOf({ north: 900, south: 300, west: 600 });
    const [first = '', second = ''] = exploring;
    assert.equal(where({ id: first }), 'north', 'its evidence came first');
    assert.equal(where({ id: second }), 'south', 'the next one in age');
  });

  test('spreads a burst over accounts of similar times', async () => {
    const { take } = await fastestOf({ north: 300, south: 360 });
    const { north = 0, south = 0 } = tally(usual.slice(0, 30).map((id) => take({ id }).account.id));
    assert.ok(north > south && south > 5, JSON.stringify({ north, south }));
  });

  test('prefers an account of twice the weight until it takes twice the time', async () => {
    const nearly = await fastestOf({ north: 590, south: 300 }, { weights: { north: 2 } });
    assert.equal(nearly.whereUsual(), 'north');
    const twice = await fastestOf({ north: 610, south: 300 }, { weights: { north: 2 } });
    assert.equal(twice.whereUsual(), 'south');
  });

  test('learns nothing from attempts without an event, nor from replies that are checked as a whole', async () => {
    const { answer, whereUsual } = await fastestOf({ north: 400, south: 300 });
    for (let i = 0; i < 10; i++) answer('north', 1, { committed: false });
    for (let i = 0; i < 10; i++) answer('north', 1, { kind: 'compact' });
    assert.equal(whereUsual(), 'south');
  });

  test('keeps its evidence through a reload', async () => {
    const { whereUsual, selection, accounts } = await fastestOf({ north: 900, south: 300 });
    selection.configure(accounts);
    assert.equal(whereUsual(), 'south');
  });
});

describe('soonest_reset', () => {
  const pool = { strategy: 'soonest_reset' } as const;

  test('prefers the first reset, and accounts without evidence last', async () => {
    const { quota, where, clock } = await selectionOf({ pool });
    quota.set('south', { left: 0.2, reset: clock.now() + 60_000 });
    quota.set('west', { left: 0.9, reset: clock.now() + 3_600_000 });
    assert.equal(where(), 'south');
    quota.set('south', { left: 0, reset: clock.now() + 60_000, until: clock.now() + 60_000 });
    assert.equal(where(), 'west');
    quota.set('west', { left: 0, until: clock.now() + 3_600_000 });
    assert.equal(where(), 'north');
  });
});

describe('accounts that tie', () => {
  for (const strategy of ['headroom', 'least_loaded', 'soonest_reset'] as const) {
    test(`get equal shares of the turns of an idle Pool (${strategy})`, async () => {
      const { where } = await selectionOf({ pool: { strategy } });
      for (const count of Object.values(tally(times(3_000, () => where())))) assert.ok(count > 850 && count < 1_150, String(count));
    });
  }

  test('get shares by their weights', async () => {
    const { where } = await selectionOf({ pool: { strategy: 'least_loaded' }, accounts: ['north', 'south'], weights: { north: 3 } });
    const { north = 0 } = tally(times(4_000, () => where()));
    assert.ok(north > 2_850 && north < 3_150, String(north));
  });

  test('are ordered by the turn, so a client’s own retry goes to the same account', async () => {
    const { where } = await selectionOf({ pool: { strategy: 'least_loaded' } });
    assert.equal(new Set(times(20, () => where({ id: 'req_same' }))).size, 1);
  });
});

const connectRefused = {
  cause: 'connect',
  status: 0,
  error: { code: null, type: null, param: null, message: null },
  retryAfterMs: undefined,
  resetsAt: undefined,
  answer: undefined,
} as const;
