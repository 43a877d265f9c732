// The limits of keys in a store, on every engine: reservations and usage of all nodes together, and each settlement exactly once.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { LimitBounds, LimitedTurn, Settlement, Store, StoredUse, Taken } from '../../../store/store.ts';
import { adapters } from '../adapters.ts';
import { attemptRow, joinedAs, limitedTurn, newNode, requestRow, usageRow } from '../samples.ts';
import { openStores } from '../stores.ts';

const DAY = 86_400_000;
const NOON = 20 * DAY + DAY / 2;
const MIDNIGHT = 20 * DAY;
/** This is longer than the windows that pass in the tests. */
const LEASE = 600_000;

const spent = (input_tokens: number, given: Partial<Parameters<typeof usageRow>[0]> = {}) =>
  usageRow({ day: MIDNIGHT, input_tokens, output_tokens: 0, cost_nanos: input_tokens * 10, ...given });

for (const adapter of adapters) {
  const open = async (context: TestContext) => {
    const { time, stores } = await openStores(adapter, context, 2);
    time.now = NOON;
    const [one, other] = stores as [Store, Store];
    const nodes = [await joinedAs(one, 'a', LEASE), await joinedAs(other, 'b', LEASE)] as const;
    let grants = 0;
    /** Reserves for a turn at the node of the store. */
    const take = (store: Store, bounds: LimitBounds, given: Partial<LimitedTurn> = {}): Promise<Taken> =>
      store.limits.take(limitedTurn({ node: nodes[store === one ? 0 : 1], grant: `grant_${++grants}`, ...given }), bounds);
    const granted = async (store: Store, bounds: LimitBounds, given: Partial<LimitedTurn> = {}): Promise<string> => {
      assert.deepEqual(await take(store, bounds, given), { outcome: 'granted' });
      return given.grant ?? `grant_${grants}`;
    };
    const refused = async (store: Store, bounds: LimitBounds, given: Partial<LimitedTurn> = {}): Promise<StoredUse> => {
      const taken = await take(store, bounds, given);
      assert.ok(taken.outcome === 'refused', `the turn was ${taken.outcome}`);
      return taken.use;
    };
    const settle = (store: Store, grant: string, used: Settlement['used'], given: Partial<Settlement> = {}): Promise<void> =>
      store.limits.settle([{ grant, key: 'ci', used, at: time.now, minute: true, ...given }]);
    return { time, one, other, nodes, take, granted, refused, settle };
  };

  suite(`[Q34] limits on ${adapter.name}`, () => {
    test('of turns at the same time count those of all nodes', async (context) => {
      const { one, other, granted, refused, settle } = await open(context);
      const first = await granted(one, { concurrent: 2 });
      await granted(other, { concurrent: 2 });
      assert.deepEqual((await refused(one, { concurrent: 2 })).running, { requests: 2, tokens: 0, cost_nanos: 0 });
      await settle(one, first, undefined);
      await granted(other, { concurrent: 2 });
      await refused(one, { concurrent: 2 });
      await granted(one, { concurrent: 1 }, { key: 'another' });
    });

    test('[Q18] a settlement has the rows of its request, in the same transaction and once', async (context) => {
      const { one, granted, settle } = await open(context);
      const grant = await granted(one, { concurrent: 2 });
      const of = { row: requestRow({ id: 'settled', retries: 1 }), attempts: [attemptRow({ request_id: 'settled', ordinal: 0 })] };
      await settle(one, grant, spent(7), { of });
      await settle(one, grant, spent(7), { of });
      assert.deepEqual(
        (await one.requests.list({})).map(({ id }) => id),
        ['settled'],
      );
      assert.deepEqual(await one.attempts.of(of.row), of.attempts);
      assert.equal(
        (await one.usage.load(0)).reduce((sum, row) => sum + row.input_tokens, 0),
        7,
      );
      await settle(one, 'a grant that is gone', spent(7), { of: { ...of, row: requestRow({ id: 'of no grant' }) } });
      assert.equal((await one.requests.list({})).length, 2, 'the row is kept where its reservation is gone');
    });

    test('of a minute count requests from their reservation, whether they run or have ended', async (context) => {
      const { time, one, other, granted, refused, settle } = await open(context);
      const bounds = { requests_per_minute: 2 };
      time.now += 1;
      const first = await granted(one, bounds);
      time.now += 9_999;
      await granted(other, bounds);
      await settle(one, first, spent(1));
      assert.deepEqual((await refused(one, bounds)).minute, [
        { slot: NOON + 250, requests: 1, tokens: 0 },
        { slot: NOON + 10_000, requests: 1, tokens: 1 },
      ]);
      time.now = NOON + 60_249;
      await refused(other, bounds);
      time.now = NOON + 60_250;
      await granted(other, bounds);
      await refused(one, bounds);
    });

    test('of a minute count no request that was never sent', async (context) => {
      const { one, granted, settle } = await open(context);
      const bounds = { requests_per_minute: 1 };
      await settle(one, await granted(one, bounds), undefined);
      await granted(one, bounds);
    });

    test('of tokens count the reservations of running turns, and their usage after the settlement', async (context) => {
      const { time, one, other, granted, refused, settle } = await open(context);
      const bounds = { tokens_per_minute: 1_000 };
      const first = await granted(one, bounds, { tokens: 900 });
      time.now += 300_000;
      await refused(other, bounds, { tokens: 101 });
      await settle(one, first, spent(400));
      await refused(other, bounds, { tokens: 601 });
      const second = await granted(other, bounds, { tokens: 600 });
      await settle(other, second, undefined);
      time.now += 59_999;
      await refused(other, bounds, { tokens: 1_000 });
      time.now += 1;
      await granted(other, bounds, { tokens: 1_000 });
    });

    test('of a day and of a week count the usage of the key in all Pools, on the days of the store', async (context) => {
      const { one, other, granted, refused } = await open(context);
      one.usage.add(spent(100, { day: MIDNIGHT - 6 * DAY }));
      one.usage.add(spent(10_000, { day: MIDNIGHT - 7 * DAY }));
      one.usage.add(spent(20, { pool: 'elsewhere', held_tokens: 3, held_nanos: 4 }));
      one.usage.add(spent(1));
      await one.flush();
      assert.deepEqual((await refused(other, { tokens_per_week: 123 }, { tokens: 1 })).days, [
        { day: MIDNIGHT - 6 * DAY, requests: 1, tokens: 100, cost_nanos: 1_000 },
        { day: MIDNIGHT, requests: 2, tokens: 24, cost_nanos: 214 },
      ]);
      await refused(other, { tokens_per_day: 24 }, { tokens: 1 });
      await refused(other, { requests_per_day: 2 });
      await refused(other, { nanos_per_day: 213 });
      await refused(other, { nanos_per_week: 1_213 });
      await granted(
        one,
        { tokens_per_day: 25, tokens_per_week: 125, requests_per_day: 3, nanos_per_day: 215, nanos_per_week: 1_215 },
        {
          tokens: 1,
          cost_nanos: 1,
        },
      );
      for (const bounds of [{ tokens_per_day: 25 }, { requests_per_day: 3 }, { nanos_per_day: 215 }])
        await refused(other, bounds, { tokens: 1, cost_nanos: 1 });
    });

    test('move a turn’s reservation to its usage in one step, which other processes are notified of', async (context) => {
      const { one, other, granted, refused, settle } = await open(context);
      const cursor = await other.changes.cursor();
      const grant = await granted(one, { tokens_per_day: 100 }, { tokens: 90 });
      await settle(one, grant, spent(30));
      assert.deepEqual(await other.usage.load(0), [spent(30)]);
      assert.deepEqual((await other.changes.since(cursor)).changes, [
        { table: 'usage', key: ['ci', 'team', MIDNIGHT], writer: 'writer-0' },
      ]);
      await refused(other, { tokens_per_day: 100 }, { tokens: 71 });
      await granted(other, { tokens_per_day: 100 }, { tokens: 70 });
    });

    test('settle a grant once, however often and by which process it is asked for, many in one call', async (context) => {
      const { time, one, other, granted } = await open(context);
      const grants = [];
      for (let i = 0; i < 7; i++) grants.push(await granted(one, { concurrent: 100 }, { key: i % 2 ? 'ci' : 'other' }));
      const settlements = grants.map((grant, i) => {
        const key = i % 2 ? 'ci' : 'other';
        return { grant, key, used: spent(10, { key_id: key }), at: time.now, minute: true };
      });
      await Promise.all([one.limits.settle(settlements), other.limits.settle(settlements.slice(0, 4))]);
      await one.limits.settle(settlements);
      const rows = await one.usage.load(0);
      assert.deepEqual(rows.map(({ key_id, requests, input_tokens }) => [key_id, requests, input_tokens]).sort(), [
        ['ci', 3, 30],
        ['other', 4, 40],
      ]);
      assert.deepEqual((await one.limits.use('ci')).minute, [{ slot: NOON, requests: 3, tokens: 30 }]);
    });

    test('reserve once for one grant', async (context) => {
      const { one, other, granted, refused } = await open(context);
      const grant = await granted(one, { concurrent: 2 });
      for (const store of [one, other]) await granted(store, { concurrent: 3 }, { grant });
      await granted(one, { concurrent: 2 });
      await refused(one, { concurrent: 2 });
    });

    test('withdraw a grant whose answer was lost, also one that arrives later', async (context) => {
      const { one, other, granted, take } = await open(context);
      const grant = await granted(one, { concurrent: 1 });
      await one.limits.settle([{ grant, key: 'ci', used: undefined, at: NOON, minute: false, withdrawn: true }]);
      const late = { grant: 'late', key: 'ci', used: undefined, at: NOON, minute: false, withdrawn: true } as const;
      await one.limits.settle([late]);
      await take(one, { concurrent: 1 }, { grant: 'late' });
      assert.deepEqual((await one.limits.use('ci')).running.requests, 0);
      await granted(other, { concurrent: 1, requests_per_minute: 1 });
    });

    test('drop the reservations of a node when its lease expires, and grant nothing to a node whose lease has expired', async (context) => {
      const { time, one, other, nodes, granted, refused, take } = await open(context);
      await granted(one, { concurrent: 1 });
      time.now += LEASE - 1;
      await other.nodes.renew({ id: 'b', token: nodes[1], config_digest: '' }, LEASE);
      await refused(other, { concurrent: 1 });
      time.now += 1;
      assert.deepEqual(await take(one, { concurrent: 1 }), { outcome: 'lost' });
      await granted(other, { concurrent: 1 });
    });

    test('count the reservations of a node under a lost lease, once it has joined again, and settle them', async (context) => {
      const { time, one, other, nodes, granted, refused, settle } = await open(context);
      const grant = await granted(one, { concurrent: 1 });
      time.now += LEASE;
      const again = await one.nodes.join(newNode(), LEASE, nodes[0]);
      assert.ok('joined' in again);
      const node = await joinedAs(other, 'b');
      await refused(other, { concurrent: 1 }, { node });
      await settle(one, grant, spent(5));
      await granted(other, { concurrent: 1 }, { node });
      assert.deepEqual(await one.usage.load(0), [spent(5)]);
    });

    test('never grant more than the limit when many ask at once', async (context) => {
      const { one, other, take } = await open(context);
      const bounds = { requests_per_minute: 10, tokens_per_day: 80 };
      const asked = Array.from({ length: 40 }, (_, i) => take(i % 2 ? one : other, bounds, { tokens: 10 }));
      const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome);
      assert.equal(outcomes.filter((outcome) => outcome === 'granted').length, 8);
    });

    test('decide for each of the turns that ask together, by its key, its bounds and its node', async (context) => {
      const { one, nodes, take } = await open(context);
      // The first reservation of each key is sent while the others wait.
      const asked = ['ci', 'other'].flatMap((key) => [
        take(one, { tokens_per_day: 100 }, { key, tokens: 40 }),
        take(one, { tokens_per_day: 100 }, { key, tokens: 70 }),
        take(one, { tokens_per_day: 100 }, { key, tokens: 60 }),
        take(one, { tokens_per_day: 100 }, { key, tokens: 1 }),
        take(one, { tokens_per_day: 101 }, { key, tokens: 1 }),
        take(one, { tokens_per_day: 200 }, { key, tokens: 1, node: nodes[1] + 1_000 }),
        take(one, { concurrent: 3 }, { key }),
      ]);
      const taken = await Promise.all(asked);
      const outcomes = ['granted', 'refused', 'granted', 'refused', 'granted', 'lost', 'refused'];
      assert.deepEqual(
        taken.map(({ outcome }) => outcome),
        [...outcomes, ...outcomes],
      );
      assert.ok(taken[1]?.outcome === 'refused');
      const { tokens } = taken[1].use.running;
      assert.ok(tokens >= 40 && tokens <= 101, `the refusal shows ${tokens} reserved tokens, of 40 before it and 101 at the end`);
      for (const key of ['ci', 'other']) assert.deepEqual((await one.limits.use(key)).running, { requests: 3, tokens: 101, cost_nanos: 0 });
    });

    test('keep no slot of a minute that has passed', async (context) => {
      const { time, one, granted, settle } = await open(context);
      await settle(one, await granted(one, { requests_per_minute: 1 }), spent(1));
      time.now += 120_001;
      await one.limits.tidy();
      time.now = NOON;
      assert.deepEqual((await one.limits.use('ci')).minute, []);
    });
  });
}
