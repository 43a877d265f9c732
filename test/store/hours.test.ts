// The sums of hours on both engines: each request is in them exactly once, with its usage, however it was written.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openStore, type Settlement } from '../../store/store.ts';
import { adapters } from './adapters.ts';
import { joinedAs, limitedTurn, requestRow, usageRow } from './samples.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

for (const { name, fresh } of adapters) {
  suite(`sums of hours on ${name}`, () => {
    test('add up refused, settled and limited requests of an hour, an account and a model', async (context) => {
      const store = await openStore(await fresh(context), { clock: () => DAY });
      const at = DAY + 5;
      store.requests.append(
        requestRow({ id: 'a', at, status: 429, outcome: 'refused', account: null, duration_ms: 10, first_event_ms: null }),
      );
      store.requests.append(
        requestRow({ id: 'b', at, status: 499, outcome: 'client_gone', account: null, model: null, pool: null, first_event_ms: null }),
      );
      const used = { requests: 1, input_tokens: 100, output_tokens: 20, cost_nanos: 7 };
      for (const [id, hours, outcome] of [
        ['c', 0, 'completed'],
        ['d', 0, 'cut'],
        ['e', 1, 'completed'],
      ] as const) {
        const row = requestRow({ id, at: at + hours * HOUR, account: 'North', duration_ms: 500, outcome });
        store.usage.add(usageRow({ ...used, day: DAY }), { row, attempts: [] });
      }
      const [all] = await settledSums(store, { by: [] });
      assert.deepEqual([all?.requests, all?.failed, all?.input_tokens, all?.output_tokens, all?.cost_nanos], [5, 2, 300, 60, 21]);
      assert.deepEqual([all?.first_events, all?.first_event_ms], [3, 120]);
      const byHour = await settledSums(store, { by: ['hour'] });
      assert.deepEqual(
        byHour.map(({ from, requests }) => [from, requests]),
        [
          [DAY + HOUR, 1],
          [DAY, 4],
        ],
      );
      const byName = await settledSums(store, { by: ['account', 'model'], since: DAY, until: DAY + HOUR });
      assert.deepEqual(
        byName.map(({ account, model, requests, failed, duration_ms }) => [account, model, requests, failed, duration_ms]),
        [
          ['', '', 1, 0, 1_234],
          ['', 'model-a', 1, 1, 10],
          ['North', 'model-a', 2, 1, 1_000],
        ],
      );
      assert.deepEqual(
        (await settledSums(store, { by: ['day', 'pool'], pools: ['team'] })).map(({ from, pool, requests }) => [from, pool, requests]),
        [[DAY, 'team', 4]],
      );
      assert.deepEqual(await settledSums(store, { by: ['pool'], pools: [] }), []);
      assert.equal((await settledSums(store, { by: [], model: 'model-b' }))[0]?.requests, 0);
      assert.equal((await settledSums(store, { by: ['hour'], limit: 1, offset: 1 }))[0]?.from, DAY);
      await store.close();
    });

    test('are the same from the roll-ups of days and Pools as from the hours', async (context) => {
      const store = await openStore(await fresh(context), { clock: () => 9 * DAY });
      context.after(() => store.close());
      const rows = Array.from({ length: 600 }, (_, n) =>
        requestRow({
          id: `req_${n}`,
          at: DAY + n * 500_000 + (n % 13),
          pool: `pool-${n % 3}`,
          account: `Account ${n % 5}`,
          model: `model-${n % 2}`,
          duration_ms: n,
        }),
      );
      for (const row of rows) store.requests.append(row);
      // The ranges are whole days, parts of days at both ends, less than a day, and everything.
      for (const [since, until] of [
        [DAY, 3 * DAY],
        [DAY + 5 * HOUR, 4 * DAY - 7 * HOUR],
        [2 * DAY + HOUR, 2 * DAY + 9 * HOUR],
        [2 * DAY + HOUR, undefined],
        [undefined, undefined],
      ] as const) {
        for (const by of [
          [],
          ['hour'],
          ['day'],
          ['pool'],
          ['account'],
          ['model', 'day'],
          ['account', 'model'],
          ['hour', 'account'],
        ] as const) {
          for (const filter of [{}, { accounts: ['Account 2', 'Account 4'] }, { model: 'model-1' }, { pools: ['pool-0', 'pool-2'] }]) {
            const inIt = rows.filter(
              ({ at, pool, account, model }) =>
                at >= (since ?? 0) &&
                at < (until ?? Number.POSITIVE_INFINITY) &&
                (filter.accounts?.includes(account ?? '') ?? true) &&
                (filter.model ?? model) === model &&
                (filter.pools?.includes(pool ?? '') ?? true),
            );
            const groups = Map.groupBy(inIt, ({ at, pool, account, model }) =>
              [
                (by as readonly string[]).includes('hour')
                  ? at - (at % HOUR)
                  : (by as readonly string[]).includes('day')
                    ? at - (at % DAY)
                    : null,
                ...(['pool', 'account', 'model'] as const).map((name) =>
                  (by as readonly string[]).includes(name) ? { pool, account, model }[name] : null,
                ),
              ].join(),
            );
            const expected = [...groups].map(([name, of]) => `${name}: ${of.length}, ${of.reduce((sum, row) => sum + row.duration_ms, 0)}`);
            const sums = await settledSums(store, { by, since, until, limit: 1_000, ...filter });
            const found = sums.map(
              ({ from, pool, account, model, requests, duration_ms }) =>
                `${[from, pool, account, model].join()}: ${requests}, ${duration_ms}`,
            );
            const none = by.length === 0 && inIt.length === 0 ? [',,,: 0, 0'] : [];
            assert.deepEqual(found.toSorted(), [...expected, ...none].toSorted(), JSON.stringify({ by, since, until, filter }));
          }
        }
      }
      assert.ok((await store.purge({ usageBefore: 9 * DAY })).usage > 0);
      for (const by of [['hour'], ['account'], ['hour', 'account']] as const) assert.deepEqual(await store.usage.hours({ by }), []);
    });

    test('have a settlement once, also where it is written again, and end with the usage of their day', async (context) => {
      const store = await openStore(await fresh(context), { clock: () => DAY });
      const node = await joinedAs(store, 'a');
      const turn = limitedTurn({ node });
      await store.limits.take(turn, { concurrent: 1 });
      const row = requestRow({ id: 'limited', at: DAY });
      const settlement: Settlement = {
        grant: turn.grant,
        key: turn.key,
        used: usageRow({ day: DAY, input_tokens: 5 }),
        at: DAY,
        of: { row, attempts: [] },
        minute: false,
      };
      await store.limits.settle([settlement]);
      await store.limits.settle([settlement]);
      const [sum] = await settledSums(store, { by: [] });
      assert.deepEqual([sum?.requests, sum?.input_tokens], [1, 5]);
      await store.purge({ usageBefore: DAY + 1 });
      assert.deepEqual(await store.usage.hours({ by: ['hour'] }), []);
      await store.close();
    });
  });
}

async function settledSums(store: Awaited<ReturnType<typeof openStore>>, filter: Parameters<typeof store.usage.hours>[0]) {
  await store.flush();
  return store.usage.hours(filter);
}
